//! Configures a service's model from its environment.

use std::sync::Arc;

use platform::Clock;
use platform::config::variables::{
    MODEL, MODEL_API_KEY as KEY, MODEL_API_KEY_SECRET as KEY_SECRET, MODEL_BASE_URL as BASE_URL,
    MODEL_PROVIDER as PROVIDER, Variable,
};
use platform::config::{AwsEnvironment, ConfigError, Environment};
use platform::deployment::Deployment;
use platform::outbound::Reuse;
use platform::secrets::{SecretSource, SecretStore};
use url::Url;

use crate::client::over;
use crate::limits::Limits;
use crate::model::{Model, NotConfigured};
use crate::openai::OpenAi;
use crate::provider::Provider;

pub type Connect<'a> = dyn Fn(Limits, Clock) -> Box<dyn Provider> + 'a;

/// Configured model of a service.
#[derive(Clone, Debug)]
pub enum ModelConfig {
    /// No model: every call fails.
    None,
    /// A model of Amazon Bedrock, in the region and with the credentials of the SDK's configuration.
    Bedrock {
        /// `MILLRACE_MODEL`: id of a model or an inference profile, or an ARN.
        model: String,
    },
    /// A server with an OpenAI-compatible chat endpoint.
    OpenAi {
        /// `MILLRACE_MODEL`: name of the model at the server.
        model: String,
        /// `MILLRACE_MODEL_BASE_URL`. The operator sets it, so it may be private, and plain http.
        base_url: Url,
        /// `MILLRACE_MODEL_API_KEY` or `MILLRACE_MODEL_API_KEY_SECRET`; a private server often needs none.
        key: Option<SecretSource>,
    },
}

impl ModelConfig {
    /// Reads the variables `MILLRACE_MODEL…`. Fails for contradictory values.
    pub fn from_deployment(deployment: &Deployment) -> Result<Self, ConfigError> {
        Self::from_environment(deployment.environment(), deployment.secrets().as_ref())
    }

    fn from_environment(
        environment: &Environment,
        secrets: Option<&Arc<dyn SecretStore>>,
    ) -> Result<Self, ConfigError> {
        let provider = environment.optional(PROVIDER).unwrap_or("none");
        let unused: &[Variable] = match provider {
            "none" => &[MODEL, BASE_URL, KEY, KEY_SECRET],
            "bedrock" => &[BASE_URL, KEY, KEY_SECRET],
            "openai" => &[],
            other => {
                return Err(ConfigError::new(format!(
                    "The variable {PROVIDER} is '{other}'. Set it to none, bedrock or openai."
                )));
            }
        };
        if let Some(name) = unused.iter().find(|name| environment.optional(**name).is_some()) {
            let advice = match provider {
                "none" => format!("Set {PROVIDER} to bedrock or openai as well, or remove {name}"),
                _ => format!("Remove it, or set {PROVIDER} to openai"),
            };
            return Err(ConfigError::new(format!(
                "The variable {name} is set, and {PROVIDER} is {provider}, which does not use it. {advice}."
            )));
        }
        if provider == "none" {
            return Ok(Self::None);
        }
        let model = environment.required(MODEL)?;
        if provider == "bedrock" {
            return Ok(Self::Bedrock { model });
        }
        let base_url = base_url(&environment.required(BASE_URL)?)?;
        let key = SecretSource::from_environment(environment, secrets, KEY, KEY_SECRET)?;
        let is_visible = |key: &str| key.bytes().all(|byte| byte.is_ascii_graphic());
        if let Some(given) = key.as_ref().and_then(SecretSource::value)
            && !is_visible(given.expose())
        {
            return Err(ConfigError::new(format!(
                "The variable {KEY} has a blank or another character that no key has. Set it to the key alone."
            )));
        }
        Ok(Self::OpenAi { model, base_url, key })
    }

    /// Returns the provider's name in `MILLRACE_MODEL_PROVIDER`.
    pub const fn provider(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bedrock { .. } => "bedrock",
            Self::OpenAi { .. } => "openai",
        }
    }

    /// Builds the model with the default limits; `bedrock` builds the provider of that name, and is missing in
    /// a program that is built without AWS. Does not connect yet.
    pub fn connect(
        &self,
        bedrock: Option<&Connect<'_>>,
        machine: &AwsEnvironment,
        clock: Clock,
    ) -> Result<Arc<dyn Model>, ConfigError> {
        self.connect_within(Limits::default(), bedrock, machine, clock)
    }

    /// Builds the model with other limits.
    pub fn connect_within(
        &self,
        limits: Limits,
        bedrock: Option<&Connect<'_>>,
        machine: &AwsEnvironment,
        clock: Clock,
    ) -> Result<Arc<dyn Model>, ConfigError> {
        Ok(match self {
            Self::None => Arc::new(NotConfigured),
            Self::Bedrock { model } => {
                let bedrock = bedrock.ok_or_else(|| ConfigError::without_aws(PROVIDER, "bedrock"))?;
                over(bedrock(limits, clock), model, limits)
            }
            Self::OpenAi { model, base_url, key } => {
                let provider = OpenAi::new(base_url, key.clone(), limits, clock, Reuse::of(machine));
                over(Box::new(provider), model, limits)
            }
        })
    }
}

fn base_url(text: &str) -> Result<Url, ConfigError> {
    // The URL is not shown, because it may contain a password.
    let refused = |why: &str| {
        ConfigError::new(format!(
            "The variable {BASE_URL} {why}. Set it to the URL below which the endpoint chat/completions is, such as \
             https://api.openai.com/v1 or http://127.0.0.1:11434/v1."
        ))
    };
    let url = Url::parse(text).map_err(|error| refused(&format!("is not a URL ({error})")))?;
    if !["http", "https"].contains(&url.scheme()) {
        return Err(refused("is not an http or https URL"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused(&format!(
            "has a user name or password; the key belongs into {KEY}"
        )));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refused("has a query or a fragment"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use platform::Result as Answered;
    use platform::secrets::Versions;

    use super::*;

    /// No test reads a secret by its name.
    struct NoSecrets;

    #[async_trait]
    impl SecretStore for NoSecrets {
        async fn versions(&self, name: &str) -> Answered<Versions> {
            panic!("{name} is read")
        }
    }

    fn config(variables: &[(Variable, &str)]) -> Result<ModelConfig, String> {
        let variables = variables
            .iter()
            .map(|(variable, value)| (variable.name.to_owned(), (*value).to_owned()));
        let environment = Environment::from_variables(variables).unwrap();
        let secrets: Arc<dyn SecretStore> = Arc::new(NoSecrets);
        ModelConfig::from_environment(&environment, Some(&secrets)).map_err(|error| error.to_string())
    }

    #[test]
    fn each_provider_takes_its_own_variables() {
        assert!(matches!(config(&[]), Ok(ModelConfig::None)));
        assert!(matches!(
            config(&[(PROVIDER, "none"), (MODEL, ""), (KEY, "")]),
            Ok(ModelConfig::None)
        ));
        let bedrock = config(&[(PROVIDER, "bedrock"), (MODEL, "eu.anthropic.claude")]);
        assert!(matches!(bedrock, Ok(ModelConfig::Bedrock { model }) if model == "eu.anthropic.claude"));
        for key in [KEY, KEY_SECRET] {
            let openai = config(&[
                (PROVIDER, "openai"),
                (MODEL, "qwen3"),
                (BASE_URL, "http://10.0.0.7:8000/v1/"),
                (key, "hunter2"),
            ]);
            let Ok(ModelConfig::OpenAi { key: Some(key), .. }) = &openai else {
                panic!("{openai:?}");
            };
            let is_given = key.value().is_some();
            assert_eq!(
                is_given,
                !format!("{openai:?}").contains("hunter2"),
                "a name may be shown, a key not"
            );
        }
    }

    #[test]
    fn wrong_combinations_say_what_to_set() {
        let url = (BASE_URL, "http://127.0.0.1/v1");
        for (variables, sentence) in [
            (
                vec![(PROVIDER, "gpt")],
                "is 'gpt'. Set it to none, bedrock or openai.",
            ),
            (
                vec![(MODEL, "m")],
                "Set MILLRACE_MODEL_PROVIDER to bedrock or openai as well, or remove MILLRACE_MODEL.",
            ),
            (
                vec![(PROVIDER, "none"), (KEY, "hunter2")],
                "or remove MILLRACE_MODEL_API_KEY.",
            ),
            (
                vec![(PROVIDER, "bedrock")],
                "The variable MILLRACE_MODEL is missing.",
            ),
            (
                vec![(PROVIDER, "bedrock"), (MODEL, "m"), url],
                "Remove it, or set MILLRACE_MODEL_PROVIDER to openai.",
            ),
            (
                vec![(PROVIDER, "openai"), url],
                "The variable MILLRACE_MODEL is missing.",
            ),
            (
                vec![(PROVIDER, "openai"), (MODEL, "m")],
                "The variable MILLRACE_MODEL_BASE_URL is missing.",
            ),
            (
                vec![(PROVIDER, "openai"), (MODEL, "m"), (BASE_URL, "api.openai.com")],
                "is not a URL",
            ),
            (
                vec![(PROVIDER, "openai"), (MODEL, "m"), (BASE_URL, "file:///hunter2")],
                "is not an http or https URL",
            ),
            (
                vec![
                    (PROVIDER, "openai"),
                    (MODEL, "m"),
                    (BASE_URL, "https://u:hunter2@h/v1"),
                ],
                "has a user name",
            ),
            (
                vec![
                    (PROVIDER, "openai"),
                    (MODEL, "m"),
                    (BASE_URL, "https://h/v1?key=hunter2"),
                ],
                "has a query",
            ),
            (
                vec![(PROVIDER, "openai"), (MODEL, "m"), url, (KEY, "hunter2\n")],
                "Set it to the key alone.",
            ),
            (
                vec![
                    (PROVIDER, "openai"),
                    (MODEL, "m"),
                    url,
                    (KEY, "a"),
                    (KEY_SECRET, "b"),
                ],
                "Set one of them.",
            ),
        ] {
            let refusal = config(&variables).unwrap_err();
            assert!(refusal.contains(sentence), "{refusal}");
            assert!(!refusal.contains("hunter2"), "{refusal}");
        }
    }
}
