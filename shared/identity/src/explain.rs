//! Says what a token means to a deployment, for the people who set up an identity provider.

use platform::auth::{Permission, Role};
use platform::config::Secret;
use platform::error::Result;
use serde::Serialize;
use serde_json::Value;

use crate::claims::{Claims, RoleSource, Source};
use crate::settings::Provider;
use crate::verifier::{Verifier, part};
use crate::{Caller, Identity};

/// What a token says, and whether it is accepted.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// The claims as they are in the token.
    pub claims: Option<Claims>,
    /// What was read of them, a sentence each.
    pub findings: Vec<String>,
    /// Why a request with this token is refused; None where it is accepted.
    pub refusal: Option<String>,
    /// Principal of such a request.
    pub principal: Option<String>,
    pub account_id: Option<String>,
    pub project_id: Option<String>,
    pub roles: Vec<String>,
    pub permissions: Vec<Permission>,
}

impl Identity {
    /// Explains a credential. It is never part of the explanation.
    pub async fn explain(&self, credential: &Secret, project: Option<&str>) -> Explanation {
        let claims = part(credential.expose(), 1);
        let mut findings = Vec::new();
        if let Some(claims) = &claims {
            findings = describe(&self.verifier, credential.expose(), claims).await;
        }
        let caller = self.caller(credential, project).await;
        if let Ok(caller) = &caller {
            findings.extend(caller.members.iter().map(|member| {
                let roles: Vec<_> = member.roles.iter().map(|role| role.as_str()).collect();
                format!(
                    "membership: {}/{} as {}",
                    member.account_id,
                    member.project_id,
                    roles.join(", ")
                )
            }));
        }
        let principal = caller.and_then(|caller: Caller| caller.principal);
        let refusal = principal.as_ref().err().map(|error| error.message().to_owned());
        let principal = principal.ok();
        Explanation {
            claims,
            findings,
            refusal,
            principal: principal.as_ref().map(|principal| principal.reference()),
            account_id: principal.as_ref().map(|principal| principal.account_id.clone()),
            project_id: principal
                .as_ref()
                .and_then(|principal| principal.project_id.clone()),
            roles: principal
                .as_ref()
                .map(|principal| principal.roles.clone())
                .unwrap_or_default(),
            permissions: principal
                .map(|principal| principal.permissions.into_iter().collect())
                .unwrap_or_default(),
        }
    }

    /// Reads the keys of every provider. Returns a sentence for each, or the reason why they cannot be read.
    pub async fn check_keys(&self) -> Vec<Result<String>> {
        let mut results = Vec::new();
        for issuer in self.verifier.issuers() {
            let count = issuer.jwks.check().await;
            let name = issuer.provider.issuers.join(" or ");
            let source = &issuer.provider.jwks;
            results.push(count.map(|count| format!("{name}: {count} keys at {source}")));
        }
        results
    }
}

async fn describe(verifier: &Verifier, token: &str, claims: &Claims) -> Vec<String> {
    let Ok(issuer) = verifier.issuer_of(token) else {
        let names = verifier
            .issuers()
            .iter()
            .flat_map(|issuer| &issuer.provider.issuers);
        let names: Vec<_> = names.map(String::as_str).collect();
        return vec![format!(
            "issuer: the token has `iss` {}; the settings name {}",
            claims.get("iss").unwrap_or(&Value::Null),
            names.join(", ")
        )];
    };
    let keys = match issuer.jwks.check().await {
        Ok(count) => format!("keys: {count} at {}", issuer.provider.jwks),
        Err(error) => format!("keys: {error}"),
    };
    let mut findings = vec![
        format!("issuer: {}", claims.get("iss").unwrap_or(&Value::Null)),
        keys,
    ];
    findings.extend(of_provider(&issuer.provider, claims));
    findings
}

fn of_provider(provider: &Provider, claims: &Claims) -> Vec<String> {
    let shown = |name: &String| {
        let value = crate::claims::find(claims, name);
        value.map(|value| format!("{name} {value}"))
    };
    let audiences: Vec<_> = provider.audience_claims.iter().filter_map(shown).collect();
    let mut findings = vec![format!(
        "audience: the token has {}; the settings name {}",
        or_nothing(&audiences),
        json_list(&provider.audiences)
    )];
    for (claim, values) in &provider.required {
        let value = crate::claims::find(claims, claim);
        findings.push(format!(
            "required: {claim} is {}; the settings name {}",
            value.unwrap_or(&Value::Null),
            json_list(values)
        ));
    }
    for (what, source) in [
        ("user", &provider.user),
        ("account", &provider.account),
        ("project", &provider.project),
        ("tenant", &provider.tenant),
    ] {
        findings.push(format!("{what}: {}", of_source(source, claims)));
    }
    findings.push(of_names("roles", &provider.roles, claims, |name| {
        name.parse::<Role>().is_ok()
    }));
    findings.push(of_names("permissions", &provider.permissions, claims, |name| {
        name.parse::<Permission>().is_ok()
    }));
    findings
}

fn of_source(source: &Source, claims: &Claims) -> String {
    match source.find(claims) {
        Ok(Some(found)) => match found.path {
            Some(path) => format!("{} from the claim '{path}'", Value::from(found.text)),
            None => format!("{} from the settings", Value::from(found.text)),
        },
        Ok(None) if source.paths.is_empty() => "not set".to_owned(),
        Ok(None) => format!(
            "nothing: the token has no claim '{}'",
            source.paths.join("' or '")
        ),
        Err(reason) => reason,
    }
}

fn of_names(what: &str, source: &RoleSource, claims: &Claims, is_known: impl Fn(&str) -> bool) -> String {
    let mut parts: Vec<String> = source
        .always
        .iter()
        .map(|name| format!("{name} by the settings"))
        .collect();
    let names = match source.names(claims) {
        Ok(names) => names,
        Err(reason) => return format!("{what}: {reason}"),
    };
    for (name, path) in names {
        let granted: Vec<_> = source
            .roles_of(&name)
            .into_iter()
            .filter(|role| is_known(role))
            .collect();
        parts.push(match granted.as_slice() {
            [] => format!("{} of '{path}' grants nothing", Value::from(name)),
            granted => format!(
                "{} of '{path}' grants {}",
                Value::from(name.as_str()),
                granted.join(", ")
            ),
        });
    }
    if parts.is_empty() {
        let paths = or_nothing(&source.paths);
        return format!("{what}: none (claims read: {paths})");
    }
    format!("{what}: {}", parts.join("; "))
}

fn json_list(values: &[Value]) -> String {
    let values: Vec<_> = values.iter().map(ToString::to_string).collect();
    values.join(", ")
}

fn or_nothing(texts: &[String]) -> String {
    match texts {
        [] => "none".to_owned(),
        _ => texts.join(", "),
    }
}
