//! Tests the lifetime and the permissions of service tokens, and forged ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use identity::service::ServiceTokens;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use platform::auth::{PrincipalKind, RunAsRole, RunPrincipal};
use platform::config::variables;
use platform::signing::{EarlierKey, SigningKey, fingerprint};
use platform::{Error, Result, Tenant, UtcTime};
use serde_json::{Value, json};

use crate::setup::{Setup as Verifying, start};

const ISSUER: &str = "urn:millrace:service";
const SHARED_SECRET: &str = "a shared secret of forty characters or so";

#[derive(Clone)]
struct Key {
    pair: Arc<KeyPair>,
    signed: Arc<AtomicU32>,
    read: Arc<AtomicU32>,
    /// Number of first reads of the public key that fail.
    unavailable: u32,
    earlier: Vec<EarlierKey>,
}

impl Key {
    fn new() -> Self {
        Self {
            pair: Arc::new(KeyPair::generate(KeySize::Rsa2048).unwrap()),
            signed: Arc::default(),
            read: Arc::default(),
            unavailable: 0,
            earlier: Vec::new(),
        }
    }

    /// A new key that replaced this one.
    fn replaced(&self, at: Option<UtcTime>) -> Self {
        let mut earlier = self.earlier.clone();
        earlier.insert(
            0,
            EarlierKey {
                public_key: self.der(),
                replaced_at: at,
            },
        );
        Self {
            earlier,
            ..Self::new()
        }
    }

    fn der(&self) -> Vec<u8> {
        let der: PublicKeyX509Der<'_> = self.pair.public_key().as_der().unwrap();
        der.as_ref().to_vec()
    }

    fn pem(&self) -> String {
        let der: Pkcs8V1Der<'_> = self.pair.as_der().unwrap();
        let text = STANDARD.encode(der.as_ref());
        format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
    }
}

#[async_trait]
impl SigningKey for Key {
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        self.signed.fetch_add(1, Ordering::SeqCst);
        let mut signature = vec![0; self.pair.public_modulus_len()];
        let random = SystemRandom::new();
        self.pair
            .sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
            .unwrap();
        Ok(signature)
    }

    async fn public_key(&self) -> Result<Vec<u8>> {
        if self.read.fetch_add(1, Ordering::SeqCst) < self.unavailable {
            return Err(Error::unavailable("KMS is away"));
        }
        Ok(self.der())
    }

    async fn earlier_keys(&self) -> Result<Vec<EarlierKey>> {
        Ok(self.earlier.clone())
    }
}

fn run(role: RunAsRole) -> RunPrincipal {
    RunPrincipal {
        tenant: Tenant::new("acme", "demo").unwrap(),
        run_id: "r1".to_owned(),
        role,
        initiated_by: "user:ada".to_owned(),
        tenant_id: Some("t1".to_owned()),
    }
}

struct Setup {
    key: Key,
    tokens: ServiceTokens,
    verifying: Verifying,
}

fn setup_with(key: Key) -> Setup {
    let settings = [
        (variables::JWKS, "/nonexistent/jwks.json"),
        (variables::TOKEN_ISSUER, "https://id.example.com"),
        (variables::TOKEN_AUDIENCE, "millrace"),
        (variables::TOKEN_SHARED_SECRET, SHARED_SECRET),
    ];
    let verifying = Verifying::new(&settings, Arc::new(key.clone()));
    Setup {
        tokens: ServiceTokens::new(Arc::new(key.clone()), verifying.clock.clone()),
        verifying,
        key,
    }
}

fn setup() -> Setup {
    setup_with(Key::new())
}

#[tokio::test]
async fn a_token_grants_the_role_of_its_run_in_its_project() {
    let setup = setup();
    for role in RunAsRole::ALL {
        let token = setup.tokens.token(&run(role)).await.unwrap();
        let principal = setup.verifying.verify(token.expose()).await.unwrap();
        assert_eq!(principal.kind, PrincipalKind::Run("r1".to_owned()));
        assert_eq!(principal.reference(), "run:r1");
        assert_eq!(principal.tenant().unwrap(), run(role).tenant);
        assert_eq!(principal.tenant_id.as_deref(), Some("t1"));
        assert_eq!(principal.roles, [role.to_string()]);
        let permissions: Vec<_> = principal.permissions.iter().copied().collect();
        let mut expected = role.role().permissions().to_vec();
        expected.sort();
        assert_eq!(permissions, expected);
    }
}

#[tokio::test]
async fn a_token_is_kept_for_four_minutes_and_holds_for_five() {
    let setup = setup();
    let (first, other) = (run(RunAsRole::Reader), run(RunAsRole::Executor));
    let token = setup.tokens.token(&first).await.unwrap();
    assert!(setup.tokens.token(&first).await.unwrap() == token);
    assert!(setup.tokens.token(&other).await.unwrap() != token);
    assert_eq!(setup.key.signed.load(Ordering::SeqCst), 2);

    setup.verifying.clock.advance_ms(239_000);
    assert!(setup.tokens.token(&first).await.unwrap() == token);
    setup.verifying.clock.advance_ms(1_000);
    assert!(setup.tokens.token(&first).await.unwrap() != token);

    // 60 s remain, plus the 30 s of clock tolerance.
    setup.verifying.clock.advance_ms(89_000);
    assert!(setup.verifying.verify(token.expose()).await.is_ok());
    setup.verifying.clock.advance_ms(1_000);
    let error = setup.verifying.verify(token.expose()).await.unwrap_err();
    assert_eq!(error.status(), 401);
    assert!(error.message().contains("expired"), "{error}");
}

#[tokio::test]
async fn a_public_key_that_cannot_be_read_is_read_again() {
    let key = Key::new();
    let setup = setup_with(Key {
        read: Arc::default(),
        unavailable: 1,
        ..key.clone()
    });
    let tokens = ServiceTokens::new(Arc::new(key), setup.verifying.clock.clone());
    let token = tokens.token(&run(RunAsRole::Reader)).await.unwrap();
    let error = setup.verifying.verify(token.expose()).await.unwrap_err();
    assert_eq!(error.status(), 503);
    assert!(setup.verifying.verify(token.expose()).await.is_ok());
}

fn claims() -> Value {
    json!({
        "sub": "r1", "account_id": "acme", "project_id": "demo", "role": "automation", "iss": ISSUER,
        "aud": "urn:millrace:api", "nbf": start().as_seconds(), "exp": start().as_seconds() + 300,
    })
}

fn header(algorithm: Algorithm) -> Header {
    let mut header = Header::new(algorithm);
    header.kid = Some(ISSUER.to_owned());
    header
}

fn signed(key: &Key, claims: &Value) -> String {
    signed_as(key, ISSUER, claims)
}

fn signed_as(key: &Key, key_id: &str, claims: &Value) -> String {
    let key = EncodingKey::from_rsa_pem(key.pem().as_bytes()).unwrap();
    let mut header = Header::new(Algorithm::RS256);
    header.kid = Some(key_id.to_owned());
    encode(&header, claims, &key).unwrap()
}

fn key_id(key: &Key) -> String {
    format!("{ISSUER}:{}", fingerprint(&key.der()))
}

#[tokio::test]
async fn token_of_a_replaced_key_is_valid_until_it_expires() {
    let old = Key::new();
    for replaced_at in [None, Some(start())] {
        let setup = setup_with(old.replaced(replaced_at));
        let of_old = ServiceTokens::new(Arc::new(old.clone()), setup.verifying.clock.clone());
        let run = run(RunAsRole::Reader);
        for token in [
            of_old.token(&run).await.unwrap(),
            setup.tokens.token(&run).await.unwrap(),
        ] {
            assert!(setup.verifying.verify(token.expose()).await.is_ok());
        }
        // A release that names no key, on either side of the rotation.
        for key in [&old, &setup.key] {
            assert!(setup.verifying.verify(&signed(key, &claims())).await.is_ok());
        }
        // The holder of the old key chooses the times of a token.
        let mut later = claims();
        later["exp"] = json!(start().as_seconds() + 86_400);
        let forged = [signed_as(&old, &key_id(&old), &later), signed(&old, &later)];
        setup.verifying.clock.advance_ms(329_000);
        for token in &forged {
            assert!(setup.verifying.verify(token).await.is_ok());
        }
        setup.verifying.clock.advance_ms(1_000);
        // Deployed, the operator ends the overlap.
        let status = match replaced_at {
            Some(_) => 401,
            None => 200,
        };
        for token in &forged {
            let verified = setup.verifying.verify(token).await;
            assert_eq!(verified.map_or_else(|error| error.status(), |_| 200), status);
        }
    }
}

#[tokio::test]
async fn token_is_checked_with_the_key_that_it_names() {
    let (old, strange) = (Key::new(), Key::new());
    let setup = setup_with(old.replaced(None));
    let new = &setup.key;
    for (signer, named) in [(&old, &old), (new, new)] {
        let token = signed_as(signer, &key_id(named), &claims());
        assert!(setup.verifying.verify(&token).await.is_ok());
    }
    for (signer, named) in [
        (&old, new),
        (new, &old),
        (&strange, &old),
        (&strange, new),
        (&strange, &strange),
    ] {
        let token = signed_as(signer, &key_id(named), &claims());
        assert_eq!(setup.verifying.verify(&token).await.unwrap_err().status(), 401);
    }
    for key_id in [
        format!("{ISSUER}:"),
        format!("{}x", key_id(new)),
        format!("{ISSUER}x"),
    ] {
        let token = signed_as(new, &key_id, &claims());
        assert_eq!(
            setup.verifying.verify(&token).await.unwrap_err().status(),
            401,
            "{key_id}"
        );
    }
}

#[tokio::test]
async fn forged_tokens_are_refused() {
    let setup = setup();
    assert!(
        setup
            .verifying
            .verify(&signed(&setup.key, &claims()))
            .await
            .is_ok()
    );
    let mut forged = vec![
        ("another key", signed(&Key::new(), &claims())),
        (
            "the shared secret of the issuer",
            encode(
                &header(Algorithm::HS256),
                &claims(),
                &EncodingKey::from_secret(SHARED_SECRET.as_bytes()),
            )
            .unwrap(),
        ),
        (
            "the public key as a secret",
            encode(
                &header(Algorithm::HS256),
                &claims(),
                &EncodingKey::from_secret(&setup.key.public_key().await.unwrap()),
            )
            .unwrap(),
        ),
        ("no signature", {
            let head = URL_SAFE_NO_PAD.encode(json!({ "alg": "none", "kid": ISSUER }).to_string());
            format!("{head}.{}.", URL_SAFE_NO_PAD.encode(claims().to_string()))
        }),
    ];
    for (what, field, value) in [
        ("another issuer", "iss", json!("https://id.example.com")),
        ("another audience", "aud", json!("millrace")),
        ("no project", "project_id", Value::Null),
        ("a role that no run has", "role", json!("account_admin")),
        ("several roles", "role", json!(["reader", "automation"])),
        ("no end", "exp", Value::Null),
        ("no beginning", "nbf", Value::Null),
        ("the future", "nbf", json!(start().as_seconds() + 31)),
        ("the past", "exp", json!(start().as_seconds() - 30)),
    ] {
        let mut changed = claims();
        changed[field] = value;
        forged.push((what, signed(&setup.key, &changed)));
    }
    let token = signed(&setup.key, &claims());
    let mut parts: Vec<_> = token.split('.').collect();
    let mut other = claims();
    other["account_id"] = json!("other");
    let other = URL_SAFE_NO_PAD.encode(other.to_string());
    parts[1] = &other;
    forged.push(("claims of another token", parts.join(".")));
    for (what, token) in forged {
        let error = setup.verifying.verify(&token).await.unwrap_err();
        assert_eq!(error.status(), 401, "{what}: {error}");
    }
}

#[tokio::test]
async fn the_issuers_tokens_do_not_pass_as_service_tokens_and_the_reverse() {
    let setup = setup();
    // The issuer's own secret and key id, with the claims of a service token.
    let mut issuers = Header::new(Algorithm::HS256);
    issuers.kid = Some("issuer".to_owned());
    let secret = EncodingKey::from_secret(SHARED_SECRET.as_bytes());
    let token = encode(&issuers, &claims(), &secret).unwrap();
    assert_eq!(setup.verifying.verify(&token).await.unwrap_err().status(), 401);
    // Without the key id, a service token is of an issuer that is no provider.
    let key = EncodingKey::from_rsa_pem(setup.key.pem().as_bytes()).unwrap();
    let token = encode(&Header::new(Algorithm::RS256), &claims(), &key).unwrap();
    assert_eq!(setup.verifying.verify(&token).await.unwrap_err().status(), 401);
}
