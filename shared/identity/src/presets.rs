//! Describes the tokens of common identity providers: what settings need not say.

/// Where a provider publishes its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeysAt {
    /// Named by the document at `.well-known/openid-configuration` below the issuer.
    Discovery,
    /// Path below the issuer.
    Below(&'static str),
    /// An address of its own.
    Address(&'static str),
}

#[derive(Debug)]
pub struct Preset {
    pub name: &'static str,
    pub keys: KeysAt,
    /// Issuer, of a provider that has one for everybody.
    pub issuers: &'static [&'static str],
    /// Claims that may name the audience.
    pub audience_claims: &'static [&'static str],
    pub user: &'static [&'static str],
    pub account: &'static [&'static str],
    pub project: &'static [&'static str],
    pub tenant: &'static [&'static str],
    pub account_name: &'static [&'static str],
    pub project_name: &'static [&'static str],
    pub roles: &'static [&'static str],
    pub permissions: &'static [&'static str],
    /// Claims that an access token has, and other tokens of the provider do not.
    pub required: &'static [(&'static str, &'static str)],
    /// Whether every person can get a token of this issuer, so that settings must require a claim.
    pub is_public: bool,
}

/// Claims of OpenID Connect alone, with keys found by discovery.
const OIDC: Preset = Preset {
    name: "oidc",
    keys: KeysAt::Discovery,
    issuers: &[],
    audience_claims: &["aud"],
    user: &["sub"],
    account: &[],
    project: &[],
    tenant: &[],
    account_name: &[],
    project_name: &[],
    roles: &[],
    permissions: &[],
    required: &[],
    is_public: false,
};

/// Every preset. The sources are the providers' documents; `docs/identity.md` shows a token of each.
pub const PRESETS: [Preset; 9] = [
    // Our own names of claims.
    Preset {
        name: "millrace",
        account: &["account_id"],
        project: &["project_id"],
        tenant: &["tenant_id"],
        account_name: &["account_name"],
        project_name: &["project_name"],
        roles: &["roles"],
        permissions: &["permissions"],
        ..OIDC
    },
    OIDC,
    // Roles are in a claim that an action adds, so only settings can name it.
    Preset {
        name: "auth0",
        keys: KeysAt::Below(".well-known/jwks.json"),
        permissions: &["permissions"],
        ..OIDC
    },
    // An access token names its client and has no audience.
    Preset {
        name: "cognito",
        keys: KeysAt::Below(".well-known/jwks.json"),
        audience_claims: &["aud", "client_id"],
        roles: &["cognito:groups"],
        required: &[("token_use", "access")],
        ..OIDC
    },
    // `sub` differs from one application to the next, `oid` does not.
    Preset {
        name: "entra",
        user: &["oid"],
        roles: &["roles"],
        ..OIDC
    },
    Preset {
        name: "keycloak",
        keys: KeysAt::Below("protocol/openid-connect/certs"),
        audience_claims: &["aud", "azp"],
        roles: &["realm_access.roles"],
        required: &[("typ", "Bearer")],
        ..OIDC
    },
    // `sub` of an access token is the login, which changes; the token of a program has no `uid`.
    Preset {
        name: "okta",
        user: &["uid", "sub"],
        roles: &["groups"],
        ..OIDC
    },
    // ID tokens; an access token of Google is no JWT.
    Preset {
        name: "google",
        keys: KeysAt::Address("https://www.googleapis.com/oauth2/v3/certs"),
        issuers: &["https://accounts.google.com", "accounts.google.com"],
        is_public: true,
        ..OIDC
    },
    Preset {
        name: "github_actions",
        keys: KeysAt::Below(".well-known/jwks"),
        issuers: &["https://token.actions.githubusercontent.com"],
        is_public: true,
        ..OIDC
    },
];

pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}
