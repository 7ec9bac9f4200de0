//! Reads which identity providers a deployment trusts, and what their claims mean.
//!
//! `MILLRACE_IDENTITY` holds one provider or an array of them as JSON, or the path of a file with it. The
//! variables `MILLRACE_JWKS`, `MILLRACE_TOKEN_ISSUER` and `MILLRACE_TOKEN_AUDIENCE` are a short form of one
//! provider whose tokens have our claims.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use platform::auth::{Permission, Role};
use platform::config::{ConfigError, Environment, Secret, variables};
use platform::http::strict;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::claims::{OneOrMany, RoleSource, Source, WrittenRoles, WrittenSource};
use crate::jwks::JwksSource;
use crate::presets::{self, KeysAt, PRESETS, Preset};

/// Most providers of a deployment.
const MAX_PROVIDERS: usize = 20;

/// An identity provider whose tokens are accepted.
#[derive(Clone, Debug)]
pub struct Provider {
    /// Values that `iss` may have; the first is the provider's address.
    pub issuers: Vec<String>,
    pub jwks: JwksSource,
    /// Secret with which HS256 tokens are accepted too.
    pub shared_secret: Option<Secret>,
    /// Values of which one must be in one of the claims of `audience_claims`.
    pub audiences: Vec<Value>,
    pub audience_claims: Vec<String>,
    /// Claims that must have one of these values.
    pub required: BTreeMap<String, Vec<Value>>,
    pub user: Source,
    pub account: Source,
    pub project: Source,
    pub tenant: Source,
    pub account_name: Source,
    pub project_name: Source,
    pub roles: RoleSource,
    pub permissions: RoleSource,
    /// Whether records of the deployment say of which projects a user is a member.
    pub memberships: bool,
    /// Put in front of the user's id, so that users of several providers stay apart.
    pub user_prefix: String,
    /// Prefixes of other providers with which no user id of this one may begin.
    pub foreign_prefixes: Vec<String>,
}

/// A provider as settings write it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderSettings {
    #[serde(default)]
    preset: Option<String>,
    issuer: Option<OneOrMany>,
    jwks: Option<String>,
    audience: OneOrMany,
    audience_claims: Option<Vec<String>>,
    #[serde(default)]
    require: BTreeMap<String, Value>,
    user: Option<WrittenSource>,
    account: Option<WrittenSource>,
    project: Option<WrittenSource>,
    tenant: Option<WrittenSource>,
    account_name: Option<WrittenSource>,
    project_name: Option<WrittenSource>,
    roles: Option<WrittenRoles>,
    permissions: Option<WrittenRoles>,
    #[serde(default)]
    memberships: bool,
    #[serde(default)]
    user_prefix: String,
}

/// Whether the environment names an identity provider. A local runner without one issues tokens itself.
pub fn names_provider(environment: &Environment) -> bool {
    let named = [variables::IDENTITY, variables::JWKS];
    named
        .iter()
        .any(|variable| environment.optional(*variable).is_some())
}

/// Returns the providers of a deployment, at least one.
pub fn providers(environment: &Environment) -> Result<Vec<Provider>, ConfigError> {
    let identity = environment.optional(variables::IDENTITY);
    let short = [
        variables::JWKS,
        variables::TOKEN_ISSUER,
        variables::TOKEN_AUDIENCE,
    ];
    let is_short = short
        .iter()
        .any(|variable| environment.optional(*variable).is_some());
    match identity {
        Some(_) if is_short => Err(ConfigError::new(
            "MILLRACE_IDENTITY and the variables MILLRACE_JWKS, MILLRACE_TOKEN_ISSUER and MILLRACE_TOKEN_AUDIENCE are two ways to name \
             a provider. Set one of them; MILLRACE_IDENTITY can hold several providers.",
        )),
        Some(text) => parse(text, environment),
        None => Ok(vec![short_form(environment)?]),
    }
}

fn short_form(environment: &Environment) -> Result<Provider, ConfigError> {
    let settings = json!({
        "preset": "millrace",
        "issuer": environment.required(variables::TOKEN_ISSUER)?,
        "jwks": environment.required(variables::JWKS)?,
        "audience": environment.required(variables::TOKEN_AUDIENCE)?,
    });
    let shared_secret = environment
        .optional(variables::TOKEN_SHARED_SECRET)
        .map(Secret::new);
    Ok(Provider {
        shared_secret,
        ..read(settings)?
    })
}

/// Parses the value of `MILLRACE_IDENTITY`.
fn parse(text: &str, environment: &Environment) -> Result<Vec<Provider>, ConfigError> {
    if environment.optional(variables::TOKEN_SHARED_SECRET).is_some() {
        return Err(ConfigError::new(
            "MILLRACE_TOKEN_SHARED_SECRET belongs to MILLRACE_JWKS. With MILLRACE_IDENTITY, tokens are signed by a provider's key.",
        ));
    }
    let is_json = text.trim_start().starts_with(['[', '{']);
    let json = match is_json {
        true => text.to_owned(),
        false => std::fs::read_to_string(Path::new(text)).map_err(|error| {
            ConfigError::new(format!(
                "MILLRACE_IDENTITY is neither JSON nor the path of a file that can be read: {error}."
            ))
        })?,
    };
    let unreadable =
        |error: serde_json::Error| ConfigError::new(format!("MILLRACE_IDENTITY is not valid JSON: {error}."));
    let strict::Json(value) = serde_json::from_str(&json).map_err(unreadable)?;
    let entries = match value {
        Value::Array(entries) => entries,
        entry => vec![entry],
    };
    if entries.is_empty() || entries.len() > MAX_PROVIDERS {
        return Err(ConfigError::new(format!(
            "MILLRACE_IDENTITY names {} providers. Name 1 to {MAX_PROVIDERS}.",
            entries.len()
        )));
    }
    let mut providers = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let provider = read(entry).map_err(|reason| {
            ConfigError::new(format!("MILLRACE_IDENTITY, provider {}: {reason}.", index + 1))
        })?;
        providers.push(provider);
    }
    keep_apart(&mut providers)?;
    Ok(providers)
}

/// Reads the settings of one provider.
fn read(settings: Value) -> Result<Provider, ConfigError> {
    let settings: ProviderSettings =
        serde_json::from_value(settings).map_err(|error| ConfigError::new(error.to_string()))?;
    let preset = preset_of(&settings)?;
    provider(settings, preset)
}

fn preset_of(settings: &ProviderSettings) -> Result<&'static Preset, ConfigError> {
    let name = settings.preset.as_deref().unwrap_or("oidc");
    presets::find(name).ok_or_else(|| {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        ConfigError::new(format!(
            "there is no preset '{name}'; there are {}",
            names.join(", ")
        ))
    })
}

fn provider(settings: ProviderSettings, preset: &Preset) -> Result<Provider, ConfigError> {
    let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    let issuers = match settings.issuer {
        Some(issuer) => issuer.into_vec(),
        None => owned(preset.issuers),
    };
    let first = issuers
        .first()
        .filter(|issuer| !issuer.is_empty())
        .ok_or_else(|| ConfigError::new("it has no `issuer`: the text that `iss` of its tokens has"))?;
    let jwks = match &settings.jwks {
        Some(jwks) => JwksSource::parse(jwks)?,
        None => keys_of(preset.keys, first)?,
    };
    let audiences: Vec<_> = settings
        .audience
        .into_vec()
        .into_iter()
        .map(Value::from)
        .collect();
    if audiences.is_empty() || audiences.contains(&Value::from("")) {
        return Err(ConfigError::new(
            "`audience` is empty: it is what the provider puts into `aud` of tokens for this service",
        ));
    }
    let source = |what, source: Option<WrittenSource>, paths: &[&str]| match source {
        Some(source) => source.read(what),
        None => Ok(Source {
            paths: owned(paths),
            default: None,
        }),
    };
    let names = |roles: Option<WrittenRoles>, paths: &[&str]| match roles {
        Some(roles) => roles.read(paths),
        None => RoleSource {
            paths: owned(paths),
            ..RoleSource::default()
        },
    };
    let mut required = BTreeMap::new();
    for (claim, value) in preset.required {
        required.insert((*claim).to_owned(), vec![Value::from(*value)]);
    }
    for (claim, value) in settings.require {
        let values = match value {
            Value::Array(values) => values,
            value => vec![value],
        };
        let is_plain = |value: &Value| value.is_string() || value.is_boolean() || value.is_i64();
        if claim.is_empty() || values.is_empty() || !values.iter().all(is_plain) {
            return Err(ConfigError::new(format!(
                "`require.{claim}` must be a text, a whole number, true or false, or an array of these"
            )));
        }
        required.insert(claim, values);
    }
    let provider = Provider {
        audiences,
        audience_claims: settings
            .audience_claims
            .unwrap_or_else(|| owned(preset.audience_claims)),
        required,
        user: source("user", settings.user, preset.user)?,
        account: source("account", settings.account, preset.account)?,
        project: source("project", settings.project, preset.project)?,
        tenant: source("tenant", settings.tenant, preset.tenant)?,
        account_name: source("account_name", settings.account_name, preset.account_name)?,
        project_name: source("project_name", settings.project_name, preset.project_name)?,
        roles: names(settings.roles, preset.roles),
        permissions: names(settings.permissions, preset.permissions),
        memberships: settings.memberships,
        user_prefix: settings.user_prefix,
        foreign_prefixes: Vec::new(),
        shared_secret: None,
        jwks,
        issuers,
    };
    check(&provider)?;
    Ok(provider)
}

/// Returns where the keys of a provider are.
fn keys_of(keys: KeysAt, issuer: &str) -> Result<JwksSource, ConfigError> {
    let below = |path: &str| format!("{}/{path}", issuer.trim_end_matches('/'));
    match keys {
        KeysAt::Address(address) => JwksSource::parse(address),
        KeysAt::Below(path) => JwksSource::parse(&below(path)),
        KeysAt::Discovery => JwksSource::discovered(issuer),
    }
}

/// Refuses settings with which no token, or one of every person, would be accepted.
fn check(provider: &Provider) -> Result<(), ConfigError> {
    let has = |source: &Source| !source.paths.is_empty() || source.default.is_some();
    if !has(&provider.user) {
        return Err(ConfigError::new("`user` names no claim"));
    }
    if provider.user.default.is_some() {
        return Err(ConfigError::new(
            "`user` must be a claim: every caller would be the same user",
        ));
    }
    if !has(&provider.account) && !provider.memberships {
        return Err(ConfigError::new(
            "nothing says to which account its users belong. Set `account`, such as {\"value\": \"acme\"}, or `memberships` to true",
        ));
    }
    if !has(&provider.account) && has(&provider.project) {
        return Err(ConfigError::new(
            "`project` needs an `account`, such as {\"value\": \"acme\"}",
        ));
    }
    for (what, source) in [("roles", &provider.roles), ("permissions", &provider.permissions)] {
        if source.paths.iter().any(String::is_empty) || (source.map.is_some() && source.paths.is_empty()) {
            return Err(ConfigError::new(format!(
                "`{what}` names no claim, so its `map` would grant nothing: name it, as in {{\"claim\": \"groups\", \"map\": …}}"
            )));
        }
    }
    let mut public = PRESETS.iter().filter(|preset| preset.is_public);
    let is_public = public.any(|preset| {
        preset
            .issuers
            .iter()
            .any(|issuer| provider.issuers.iter().any(|own| own == issuer))
    });
    if is_public && provider.required.is_empty() && !provider.memberships {
        return Err(ConfigError::new(format!(
            "every person can get a token of {}. Say in `require` which claim tells yours, such as {}, or set `memberships` to true",
            provider.issuers.join(" or "),
            match provider.issuers.iter().any(|issuer| issuer.contains("google")) {
                true => "{\"hd\": \"example.com\"}",
                false => "{\"repository\": \"example/shop\", \"environment\": \"prod\"}",
            }
        )));
    }
    let mapped = provider.roles.map.iter().flat_map(BTreeMap::values).flatten();
    if let Some(role) = mapped
        .chain(&provider.roles.always)
        .find(|role| role.parse::<Role>().is_err())
    {
        let names: Vec<_> = Role::ALL.iter().map(|role| role.as_str()).collect();
        return Err(ConfigError::new(format!(
            "there is no role '{role}'; there are {}",
            names.join(", ")
        )));
    }
    let mapped = provider
        .permissions
        .map
        .iter()
        .flat_map(BTreeMap::values)
        .flatten();
    if let Some(permission) = mapped
        .chain(&provider.permissions.always)
        .find(|text| text.parse::<Permission>().is_err())
    {
        let names: Vec<_> = Permission::ALL
            .iter()
            .map(|permission| permission.as_str())
            .collect();
        return Err(ConfigError::new(format!(
            "there is no permission '{permission}'; there are {}",
            names.join(", ")
        )));
    }
    Ok(())
}

/// Refuses providers whose tokens could be mistaken for those of another, and keeps their users apart.
fn keep_apart(providers: &mut [Provider]) -> Result<(), ConfigError> {
    let mut issuers = BTreeSet::new();
    for issuer in providers.iter().flat_map(|provider| &provider.issuers) {
        if !issuers.insert(issuer) {
            return Err(ConfigError::new(format!(
                "MILLRACE_IDENTITY names the issuer '{issuer}' twice. Give it one entry with several audiences."
            )));
        }
    }
    let prefixes: Vec<_> = providers
        .iter()
        .map(|provider| provider.user_prefix.clone())
        .collect();
    let distinct: BTreeSet<_> = prefixes.iter().collect();
    if distinct.len() < prefixes.len() {
        return Err(ConfigError::new(
            "MILLRACE_IDENTITY has providers with the same `user_prefix`, whose users could have the same ids. Give each provider but \
             one a prefix of its own, such as \"ci:\".",
        ));
    }
    for provider in providers {
        let own = provider.user_prefix.len();
        let longer = prefixes.iter().filter(|prefix| prefix.len() > own);
        provider.foreign_prefixes = longer.cloned().collect();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(identity: &str) -> Result<Vec<Provider>, String> {
        let environment = Environment::from_variables([]).unwrap();
        let environment = environment.with([(variables::IDENTITY, identity.to_owned())]);
        providers(&environment).map_err(|error| error.to_string())
    }

    #[test]
    fn preset_says_what_settings_need_not() {
        let providers = read(
            r#"[{"preset": "cognito", "issuer": "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Ab", "audience": ["c1", "c2"],
                 "account": {"value": "acme"}, "project": {"value": "demo"}, "roles": {"map": {"Staff": "developer"}}},
                {"preset": "github_actions", "audience": "millrace", "require": {"repository_owner": "acme"}, "account": {"value": "acme"},
                 "project": {"value": "demo"}, "roles": {"always": ["automation"]}, "user_prefix": "ci:"}]"#,
        )
        .unwrap();
        let [cognito, github] = providers.as_slice() else {
            panic!()
        };
        assert_eq!(cognito.audience_claims, ["aud", "client_id"]);
        assert_eq!(cognito.roles.paths, ["cognito:groups"]);
        assert_eq!(github.issuers, ["https://token.actions.githubusercontent.com"]);
        let JwksSource::Url(url) = &cognito.jwks else {
            panic!()
        };
        assert_eq!(
            url.as_str(),
            "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Ab/.well-known/jwks.json"
        );
    }

    #[test]
    fn setting_that_would_accept_no_token_or_every_one_is_refused() {
        for (identity, reason) in [
            ("[]", "names 0 providers"),
            ("[{", "is not valid JSON"),
            ("no-such-file.json", "neither JSON nor the path"),
            (
                r#"{"issuer": "https://id.example.com"}"#,
                "missing field `audience`",
            ),
            (
                r#"{"issuer": "https://id.example.com", "audience": []}"#,
                "`audience` is empty",
            ),
            (
                r#"{"issuer": "https://id.example.com", "audience": "m"}"#,
                "nothing says to which account",
            ),
            (r#"{"audience": "m", "account": "org"}"#, "it has no `issuer`"),
            (
                r#"{"issuer": "https://a.example", "audience": "m", "account": "org", "acount": "x"}"#,
                "unknown field `acount`",
            ),
            (
                r#"{"preset": "auth1", "issuer": "https://a.example", "audience": "m"}"#,
                "there is no preset 'auth1'",
            ),
            (
                r#"{"issuer": "https://a.example", "audience": "m", "account": "org", "roles": {"claim": "groups", "map": {"a": "boss"}}}"#,
                "there is no role 'boss'",
            ),
            (
                r#"{"issuer": "https://a.example", "audience": "m", "account": "org", "permissions": {"always": ["all"]}}"#,
                "there is no permission 'all'",
            ),
            (
                r#"{"issuer": "https://a.example", "audience": "m", "account": "org", "user": {"value": "x"}}"#,
                "every caller would be the same user",
            ),
            (
                r#"{"preset": "google", "audience": "m", "account": {"value": "a"}}"#,
                "every person can get a token of",
            ),
            (
                r#"{"issuer": "http://id.example.com", "audience": "m", "account": "org"}"#,
                "https",
            ),
            (
                r#"[{"issuer": "https://a.example", "audience": "m", "account": "org"},
                    {"issuer": "https://a.example", "audience": "n", "account": "org", "user_prefix": "b:"}]"#,
                "twice",
            ),
            (
                r#"[{"issuer": "https://a.example", "audience": "m", "account": "org"},
                    {"issuer": "https://b.example", "audience": "m", "account": "org"}]"#,
                "could have the same ids",
            ),
        ] {
            let refusal = read(identity).unwrap_err();
            assert!(refusal.contains(reason), "{identity}: {refusal}");
        }
    }

    #[test]
    fn two_ways_at_once_are_refused() {
        let environment = Environment::from_variables([]).unwrap().with([
            (variables::IDENTITY, "[]".to_owned()),
            (variables::JWKS, "keys.json".to_owned()),
        ]);
        assert!(
            providers(&environment)
                .unwrap_err()
                .to_string()
                .contains("two ways")
        );
    }
}
