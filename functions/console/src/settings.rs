//! Reads the settings of the console.

use std::path::PathBuf;

use platform::config::{ConfigError, Environment, Secret, variables};
use serde::{Serialize, Serializer};
use url::Url;

/// Settings of the console. The page reads those that it needs from `/console/config.json`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Settings {
    /// Folder of the built files, from `MILLRACE_CONSOLE_DIR`; by default `console` beside the program, where
    /// the function's archive has it.
    #[serde(skip)]
    pub folder: PathBuf,
    /// Ingest base URL; a relative one starts at the API's origin and stage.
    pub ingest_url: String,
    /// Text with which the page proves itself where the server gives it a developer's token; None where the
    /// server gives none. The page reads here only whether there is one, because any program can ask for
    /// this.
    #[serde(rename = "developer_token", serialize_with = "is_some")]
    pub page_proof: Option<Secret>,
    /// Identity provider that callers sign in with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oidc: Option<Oidc>,
    /// Other origins that the page sends requests to: of the bucket, and of the identity provider.
    #[serde(skip)]
    pub connect: Vec<String>,
}

/// OpenID provider, which knows the console as a public client with PKCE.
#[derive(Clone, Debug, Serialize)]
pub struct Oidc {
    pub issuer: String,
    pub client_id: String,
    /// Scopes, separated by spaces.
    pub scope: String,
    /// Audience that the console asks for, at a provider that needs to be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audience: Option<String>,
}

impl Settings {
    pub fn from_environment(environment: &Environment) -> Result<Self, ConfigError> {
        let text = |name| {
            environment
                .optional(name)
                .map(str::trim)
                .filter(|text| !text.is_empty())
        };
        let client = text(variables::CONSOLE_CLIENT_ID);
        let issuer = text(variables::CONSOLE_ISSUER).or_else(|| text(variables::TOKEN_ISSUER));
        let oidc = match (client, issuer) {
            (None, _) => None,
            (Some(client_id), Some(issuer)) if Url::parse(issuer).is_ok_and(|url| url.has_host()) => {
                Some(Oidc {
                    issuer: issuer.to_owned(),
                    client_id: client_id.to_owned(),
                    scope: text(variables::CONSOLE_SCOPE).unwrap_or("openid").to_owned(),
                    audience: text(variables::CONSOLE_AUDIENCE).map(str::to_owned),
                })
            }
            (Some(_), issuer) => {
                return Err(ConfigError::new(format!(
                    "The console signs in at '{}', which is no URL. Set MILLRACE_CONSOLE_ISSUER to the URL of an OpenID provider, \
                     or remove MILLRACE_CONSOLE_CLIENT_ID.",
                    issuer.unwrap_or_default()
                )));
            }
        };
        let connect = text(variables::CONSOLE_CONNECT).unwrap_or_default();
        let connect: Vec<String> = connect
            .split(',')
            .map(|origin| origin.trim().to_owned())
            .collect();
        if let Some(wrong) = connect
            .iter()
            .find(|origin| !origin.is_empty() && !is_origin(origin))
        {
            return Err(ConfigError::new(format!(
                "MILLRACE_CONSOLE_CONNECT names '{wrong}', which is no origin. Write each one as https://<host>, separated by commas."
            )));
        }
        Ok(Self {
            folder: text(variables::CONSOLE_DIR).map_or_else(beside_program, PathBuf::from),
            ingest_url: environment.required(variables::CONSOLE_INGEST_URL)?,
            page_proof: None,
            oidc,
            connect: connect.into_iter().filter(|origin| !origin.is_empty()).collect(),
        })
    }
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn is_some<S: Serializer>(proof: &Option<Secret>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(proof.is_some())
}

fn beside_program() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.parent().unwrap_or(&program).join("console")
}

fn is_origin(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "https" | "http")
            && url.has_host()
            && url.path() == "/"
            && url.query().is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::config::variables::Variable;

    fn read(variables: &[(Variable, &str)]) -> Result<Settings, ConfigError> {
        let required = [(variables::CONSOLE_INGEST_URL, "https://ingest.example/")];
        let all = required.iter().chain(variables);
        let all = all.map(|(variable, value)| (variable.name.to_owned(), (*value).to_owned()));
        Settings::from_environment(&Environment::from_variables(all)?)
    }

    #[test]
    fn the_provider_is_the_issuer_of_tokens_unless_another_is_named() {
        let issuer = (variables::TOKEN_ISSUER, "https://login.example/");
        assert!(read(&[issuer]).unwrap().oidc.is_none());
        let client = (variables::CONSOLE_CLIENT_ID, "console");
        let oidc = read(&[issuer, client]).unwrap().oidc.unwrap();
        assert_eq!(
            (oidc.issuer.as_str(), oidc.scope.as_str()),
            ("https://login.example/", "openid")
        );
        let other = (variables::CONSOLE_ISSUER, "https://other.example");
        assert_eq!(
            read(&[issuer, client, other]).unwrap().oidc.unwrap().issuer,
            "https://other.example"
        );
    }

    #[test]
    fn a_provider_or_an_origin_that_is_no_url_stops_the_start() {
        let client = (variables::CONSOLE_CLIENT_ID, "console");
        let refusal = read(&[client, (variables::TOKEN_ISSUER, "millrace-local")]).unwrap_err();
        assert!(
            refusal.to_string().contains("'millrace-local', which is no URL"),
            "{refusal}"
        );
        for wrong in ["login.example", "https://login.example/path", "'unsafe-eval'"] {
            let refusal = read(&[(variables::CONSOLE_CONNECT, wrong)]).unwrap_err();
            assert!(
                refusal.to_string().contains("which is no origin"),
                "{wrong}: {refusal}"
            );
        }
        let settings = read(&[(
            variables::CONSOLE_CONNECT,
            "https://a.example, https://b.example:8443,",
        )])
        .unwrap();
        assert_eq!(settings.connect, ["https://a.example", "https://b.example:8443"]);
    }
}
