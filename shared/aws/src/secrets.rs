//! Reads secrets from AWS Secrets Manager.

use async_trait::async_trait;
use aws_config::SdkConfig;
use aws_sdk_secretsmanager::Client;
use aws_sdk_secretsmanager::error::DisplayErrorContext;
use platform::config::Secret;
use platform::secrets::{SecretStore, Versions};
use platform::{Error, Result};

/// Reads secrets by name or ARN.
pub struct SecretsManager {
    client: Client,
}

impl SecretsManager {
    /// Does not connect yet.
    pub fn new(sdk: &SdkConfig) -> Self {
        Self {
            client: Client::new(sdk),
        }
    }

    /// None if the secret has no such version.
    async fn version(&self, name: &str, stage: &str) -> Result<Option<Secret>> {
        let request = self.client.get_secret_value().secret_id(name);
        match request.version_stage(stage).send().await {
            Ok(answer) => Ok(answer.secret_string.map(Secret::new)),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(|error| error.is_resource_not_found_exception()) =>
            {
                Ok(None)
            }
            Err(error) => Err(Error::unavailable(DisplayErrorContext(error).to_string())),
        }
    }
}

#[async_trait]
impl SecretStore for SecretsManager {
    async fn versions(&self, name: &str) -> Result<Versions> {
        let current = self.version(name, "AWSCURRENT").await?;
        let previous = self.version(name, "AWSPREVIOUS").await?;
        let current = current
            .ok_or_else(|| Error::internal(format!("the secret '{name}' does not exist or has no text")))?;
        Ok(Versions { current, previous })
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::post;
    use serde_json::{Value, json};

    use super::*;
    use crate::config::{Keys, sdk_config_for};

    /// Secrets Manager with one secret, its versions newest first. Without versions it fails.
    async fn secrets(versions: &'static [&'static str]) -> SecretsManager {
        let answer = move |body: String| async move {
            let request: Value = serde_json::from_str(&body).unwrap();
            let place = usize::from(request["VersionStage"] == "AWSPREVIOUS");
            match versions.get(place) {
                _ if versions.is_empty() => (StatusCode::INTERNAL_SERVER_ERROR, "{}".to_owned()),
                _ if request["SecretId"] != "page-tokens" => not_found(),
                Some(secret) => (StatusCode::OK, json!({ "SecretString": secret }).to_string()),
                None => not_found(),
            }
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(axum::serve(listener, Router::new().route("/", post(answer))).into_future());
        SecretsManager::new(&sdk_config_for(&endpoint, Keys::signing(&Secret::new("s"))))
    }

    fn not_found() -> (StatusCode, String) {
        let body = json!({ "__type": "ResourceNotFoundException" });
        (StatusCode::BAD_REQUEST, body.to_string())
    }

    #[tokio::test]
    async fn both_versions_are_asked_for() {
        let secrets = secrets(&["two", "one"]).await;
        let expected = Versions {
            current: Secret::new("two"),
            previous: Some(Secret::new("one")),
        };
        assert_eq!(secrets.versions("page-tokens").await.unwrap(), expected);
        let missing = secrets.versions("other").await.unwrap_err();
        assert_eq!(missing.kind(), platform::ErrorKind::Internal);
    }

    #[tokio::test]
    async fn a_secret_that_was_never_rotated_has_one_version() {
        let found = secrets(&["one"]).await.versions("page-tokens").await.unwrap();
        assert_eq!(found.previous, None);
    }

    #[tokio::test]
    async fn no_answer_is_unavailable() {
        let error = secrets(&[]).await.versions("page-tokens").await.unwrap_err();
        assert_eq!(error.kind(), platform::ErrorKind::Unavailable);
    }
}
