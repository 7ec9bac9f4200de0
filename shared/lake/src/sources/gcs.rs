//! Downloads files from Google Cloud Storage, by its XML API.
//!
//! Google takes a token that the service account itself signs, so there is no exchange of tokens. A failure
//! on Google's side is retried, and a body that breaks off is continued with a range.

use std::time::Duration;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use platform::Clock;
use platform::config::{ConfigError, Secret};
use platform::objects::remote::{Download, Place, SourceError};
use platform::outbound::header::{AUTHORIZATION, CONTENT_RANGE, ETAG, RANGE};
use platform::outbound::{HeaderMap, HeaderValue, Opened, OutboundError, Request, Reuse, Trusted};
use platform::secrets::SecretSource;
use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;
use tracing::{error, warn};
use url::Url;

const BASE_URL: &str = "https://storage.googleapis.com";
const SCOPE: &str = "https://www.googleapis.com/auth/devstorage.read_only";
/// Maximum lifetime of a token that a service account signs.
const TOKEN_S: i64 = 3_600;
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Pause before the first retry of a download; each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of retries of a download.
const MAX_RETRIES: u32 = 5;
const UNREACHABLE: &str = "Google Cloud Storage cannot be reached, or broke off";

/// Google Cloud Storage, read as a service account.
pub(super) struct Gcs {
    key: SecretSource,
    client: Trusted,
    clock: Clock,
}

/// JSON key of a service account.
#[derive(Deserialize)]
struct Key {
    client_email: String,
    private_key: String,
    private_key_id: String,
    /// For a stand-in; Google's keys have neither this nor `disable_oauth`.
    #[serde(default)]
    gcs_base_url: Option<String>,
    #[serde(default)]
    disable_oauth: bool,
}

impl Gcs {
    /// `key` is the JSON key of the service account.
    pub(super) fn new(key: SecretSource) -> Result<Self, ConfigError> {
        let clock = Clock::System;
        // The cause may quote the key, so it is left out.
        if key.value().is_some_and(|key| Access::new(key, &clock).is_none()) {
            return Err(ConfigError::new(
                "The variable MILLRACE_GCS_CREDENTIALS is not the JSON key of a Google service account. Set it to the content \
                 of the key file.",
            ));
        }
        let client = Trusted::new(CONNECT_PATIENCE, Reuse::Never);
        Ok(Self { key, client, clock })
    }

    pub(super) async fn get_to_file(
        &self,
        place: &Place<'_>,
        download: Download<'_>,
        deadline: Duration,
    ) -> Result<(), SourceError> {
        let key = self.key.versions().await.map_err(|cause| {
            error!(%cause, "the Google credentials cannot be fetched");
            SourceError::Failed("the credentials for Google Cloud Storage cannot be fetched".to_owned())
        })?;
        let access = Access::new(&key.current, &self.clock).ok_or_else(|| {
            error!("the secret with the Google credentials is not the JSON key of a service account");
            SourceError::Failed("the credentials for Google Cloud Storage are not valid".to_owned())
        })?;
        let mut object = Object {
            client: &self.client,
            url: access.url(place),
            headers: access.headers,
            max_bytes: download.max_bytes,
            deadline,
            retries: 0,
        };
        let mut opened = object.open(None).await?;
        if opened.status != 200 {
            return Err(refused(opened.status));
        }
        let (size, etag) = (opened.size(), opened.headers.get(ETAG).cloned());
        let (mut file, mut written) = (download.begin(size).await?, 0);
        loop {
            let failure = match opened.next().await {
                Ok(Some(piece)) => {
                    file.write(&piece).await?;
                    written += piece.len() as u64;
                    continue;
                }
                Ok(None) if size.is_none_or(|size| size == written) => return file.finish().await,
                Ok(None) => return Err(SourceError::Failed(UNREACHABLE.to_owned())),
                Err(failure) => failure,
            };
            // Without both, the rest may be that of another object.
            let (Some(size), Some(_), OutboundError::Unreachable(_)) = (size, &etag, &failure) else {
                return Err(object.failed(&failure));
            };
            if !object.may_retry().await {
                return Err(object.failed(&failure));
            }
            opened = object.open(Some((written, size))).await?;
            let range = opened.headers.get(CONTENT_RANGE);
            let expected = format!("bytes {written}-{}/{size}", size.saturating_sub(1));
            if opened.status != 206
                || opened.headers.get(ETAG) != etag.as_ref()
                || range.is_none_or(|range| range.as_bytes() != expected.as_bytes())
            {
                return Err(object.failed(&failure));
            }
        }
    }
}

/// Base URL, and headers with a token.
struct Access {
    base: Url,
    headers: HeaderMap,
}

impl Access {
    /// None where the key is not the JSON key of a service account.
    fn new(key: &Secret, clock: &Clock) -> Option<Self> {
        let key: Key = serde_json::from_str(key.expose()).ok()?;
        let mut headers = HeaderMap::new();
        if !key.disable_oauth {
            let mut token = HeaderValue::try_from(format!("Bearer {}", key.token(clock)?)).ok()?;
            token.set_sensitive(true);
            headers.insert(AUTHORIZATION, token);
        }
        let base = key.gcs_base_url.as_deref().unwrap_or(BASE_URL);
        Some(Self {
            base: Url::parse(base).ok().filter(|base| !base.cannot_be_a_base())?,
            headers,
        })
    }

    fn url(&self, place: &Place<'_>) -> String {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments
                .pop_if_empty()
                .push(place.bucket)
                .extend(place.key.split('/'));
        }
        url.into()
    }
}

impl Key {
    fn token(&self, clock: &Clock) -> Option<String> {
        let key = EncodingKey::from_rsa_pem(self.private_key.as_bytes()).ok()?;
        let header = Header {
            kid: Some(self.private_key_id.clone()),
            ..Header::new(Algorithm::RS256)
        };
        let now_s = clock.now().as_seconds();
        let claims = json!({
            "iss": self.client_email,
            "sub": self.client_email,
            "scope": SCOPE,
            "iat": now_s,
            "exp": now_s + TOKEN_S,
        });
        jsonwebtoken::encode(&header, &claims, &key).ok()
    }
}

/// The object of a download.
struct Object<'a> {
    client: &'a Trusted,
    url: String,
    headers: HeaderMap,
    max_bytes: u64,
    deadline: Duration,
    retries: u32,
}

impl Object<'_> {
    /// Requests the object, or its bytes from the first number on where the second is its size. Retries what
    /// may pass.
    async fn open(&mut self, rest: Option<(u64, u64)>) -> Result<Opened, SourceError> {
        let mut headers = self.headers.clone();
        if let Some((from, size)) = rest
            && let Ok(range) = HeaderValue::try_from(format!("bytes={from}-{}", size.saturating_sub(1)))
        {
            headers.insert(RANGE, range);
        }
        loop {
            let request = Request {
                headers: headers.clone(),
                ..Request::get(&self.url, self.max_bytes, self.deadline)
            };
            let sent = self.client.send(request).await;
            let may_pass = match &sent {
                Ok(opened) => matches!(opened.status, 408 | 429 | 500..),
                Err(error) => matches!(error, OutboundError::Unreachable(_)),
            };
            if !may_pass || !self.may_retry().await {
                return sent.map_err(|error| self.failed(&error));
            }
        }
    }

    /// Counts a retry and pauses before it; false after the last.
    async fn may_retry(&mut self) -> bool {
        if self.retries == MAX_RETRIES {
            return false;
        }
        let pause = FIRST_PAUSE * 2_u32.pow(self.retries);
        self.retries += 1;
        // Downloads that failed together are not repeated together.
        sleep(pause.mul_f64(0.5 + rand::random::<f64>() / 2.0)).await;
        true
    }

    fn failed(&self, error: &OutboundError) -> SourceError {
        if matches!(error, OutboundError::TooLarge(_)) {
            return SourceError::too_large(self.max_bytes);
        }
        let cause = error.cause();
        warn!(%error, cause, "a file of Google Cloud Storage cannot be read");
        SourceError::Failed(UNREACHABLE.to_owned())
    }
}

fn refused(status: u16) -> SourceError {
    warn!(status, "a file of Google Cloud Storage cannot be read");
    let why = match status {
        404 => "there is no such object",
        401 | 403 => {
            "Google Cloud Storage does not let this service read it; let its service account read the bucket"
        }
        _ => UNREACHABLE,
    };
    SourceError::Failed(why.to_owned())
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer as _;
    use aws_lc_rs::rsa::{KeyPair, KeySize};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use jsonwebtoken::{DecodingKey, Validation, decode};
    use serde_json::Value;

    use super::*;

    #[test]
    fn token_is_signed_by_the_service_account() {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let pem = STANDARD.encode(pair.as_der().unwrap().as_ref());
        let key = json!({
            "type": "service_account",
            "client_email": "reader@project.iam.gserviceaccount.com",
            "private_key": format!("-----BEGIN PRIVATE KEY-----\n{pem}\n-----END PRIVATE KEY-----\n"),
            "private_key_id": "key-1",
        });
        let clock = Clock::manual("2026-01-02T03:04:05Z".parse().unwrap());
        let access = Access::new(&Secret::new(key.to_string()), &clock).unwrap();
        let header = access.headers[AUTHORIZATION].to_str().unwrap();
        let token = header.strip_prefix("Bearer ").unwrap();
        let public = aws_lc_rs::signature::KeyPair::public_key(&pair).as_ref().to_vec();
        let mut validation = Validation::new(Algorithm::RS256);
        validation.validate_exp = false;
        let token = decode::<Value>(token, &DecodingKey::from_rsa_der(&public), &validation).unwrap();
        assert_eq!(token.header.kid.as_deref(), Some("key-1"));
        assert_eq!(token.claims["iss"], "reader@project.iam.gserviceaccount.com");
        assert_eq!(token.claims["scope"], SCOPE);
        assert_eq!(
            token.claims["exp"].as_i64().unwrap() - token.claims["iat"].as_i64().unwrap(),
            3_600
        );
    }

    #[test]
    fn name_of_an_object_is_escaped() {
        let access = Access {
            base: Url::parse(BASE_URL).unwrap(),
            headers: HeaderMap::new(),
        };
        let place = Place {
            bucket: "my.bucket-1",
            key: "a b/ä?#%2e/c+d.csv",
        };
        assert_eq!(
            access.url(&place),
            "https://storage.googleapis.com/my.bucket-1/a%20b/%C3%A4%3F%23%252e/c+d.csv"
        );
    }
}
