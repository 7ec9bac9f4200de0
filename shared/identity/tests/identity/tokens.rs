//! Tests access tokens of every algorithm, valid and invalid, against key sets in files, with a manual clock.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use platform::auth::{Permission, PrincipalKind};
use platform::config::variables;
use serde_json::{Value, json};

use crate::issuer::{Issuer, write_keys};
use crate::setup::{NoServiceKey, Setup, start};

const SECRET: &str = "a shared secret of forty characters or so";

/// A setup with the keys of these issuers in a file.
struct WithKeys {
    setup: Setup,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Deref for WithKeys {
    type Target = Setup;

    fn deref(&self) -> &Setup {
        &self.setup
    }
}

fn setup(issuers: &[&Issuer], shared_secret: Option<&str>) -> WithKeys {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jwks.json");
    write_keys(&path, issuers);
    let settings = [
        (variables::JWKS, path.to_str().unwrap()),
        (variables::TOKEN_ISSUER, "https://id.example.com"),
        (variables::TOKEN_AUDIENCE, "millrace"),
        (variables::TOKEN_SHARED_SECRET, shared_secret.unwrap_or_default()),
    ];
    WithKeys {
        setup: Setup::new(&settings, Arc::new(NoServiceKey)),
        path,
        _folder: folder,
    }
}

async fn refusal(setup: &Setup, token: &str) -> String {
    setup.refusal(token, None, 401).await
}

fn claims() -> Value {
    let now = start().as_seconds();
    json!({
        "sub": "ada", "account_id": "acme", "project_id": "demo", "roles": ["reader", "no-such-role"],
        "permissions": ["audit:read", "no:such"], "iss": "https://id.example.com", "aud": ["millrace", "other"],
        "exp": now + 600, "nbf": now,
    })
}

fn with(field: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[field] = value;
    claims
}

#[tokio::test]
async fn every_algorithm_of_the_contract_is_verified() {
    for algorithm in [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA] {
        let issuer = Issuer::new(algorithm, "k1");
        let setup = setup(&[&issuer], None);
        let principal = setup.verify(&issuer.token(&claims())).await.unwrap();
        assert_eq!(principal.kind, PrincipalKind::User("ada".to_owned()));
        assert_eq!(
            (principal.account_id.as_str(), principal.project_id.as_deref()),
            ("acme", Some("demo"))
        );
        assert!(principal.permissions.contains(&Permission::InteractionRead));
        assert!(principal.permissions.contains(&Permission::AuditRead));
        assert!(!principal.permissions.contains(&Permission::InteractionWrite));
        // The same key id with another key.
        let forger = Issuer::new(algorithm, "k1");
        assert_eq!(
            refusal(&setup, &forger.token(&claims())).await,
            "The signature of the access token does not hold."
        );
    }
}

#[tokio::test]
async fn a_token_cannot_choose_how_it_is_checked() {
    let issuer = Issuer::new(Algorithm::RS256, "k1");
    let setup = setup(&[&issuer], None);
    let payload = URL_SAFE_NO_PAD.encode(claims().to_string());
    for algorithm in ["none", "None", "nOnE", "HS256", "ES256"] {
        let header =
            URL_SAFE_NO_PAD.encode(json!({ "alg": algorithm, "typ": "JWT", "kid": "k1" }).to_string());
        for signature in ["", "AAAA"] {
            refusal(&setup, &format!("{header}.{payload}.{signature}")).await;
        }
    }
    // Signed with the public key as a shared secret.
    let public = serde_json::to_vec(&issuer.jwk()).unwrap();
    let mut header = Header::new(Algorithm::HS256);
    header.kid = Some("k1".to_owned());
    let forged = encode(&header, &claims(), &EncodingKey::from_secret(&public)).unwrap();
    refusal(&setup, &forged).await;
}

#[tokio::test]
async fn a_shared_secret_counts_only_where_it_is_configured() {
    let issuer = Issuer::new(Algorithm::ES256, "k1");
    let token = encode(
        &Header::new(Algorithm::HS256),
        &claims(),
        &EncodingKey::from_secret(SECRET.as_bytes()),
    )
    .unwrap();
    refusal(&setup(&[&issuer], None), &token).await;
    let configured = setup(&[&issuer], Some(SECRET));
    configured.verify(&token).await.unwrap();
    configured.verify(&issuer.token(&claims())).await.unwrap();
    let other = encode(
        &Header::new(Algorithm::HS256),
        &claims(),
        &EncodingKey::from_secret(b"another"),
    )
    .unwrap();
    refusal(&configured, &other).await;
}

#[tokio::test]
async fn time_issuer_and_audience_must_hold() {
    let issuer = Issuer::new(Algorithm::ES256, "k1");
    let setup = setup(&[&issuer], None);
    let token = issuer.token(&claims());
    setup.clock.advance_ms(-60_000);
    assert_eq!(
        refusal(&setup, &token).await,
        "The access token is not valid yet."
    );
    setup.clock.advance_ms(60_000 + 629_000);
    setup.verify(&token).await.unwrap();
    setup.clock.advance_ms(1_000);
    assert_eq!(
        refusal(&setup, &token).await,
        "The access token has expired; get a new one."
    );
    setup.clock.advance_ms(-630_000);

    for (claims, sentence) in [
        (
            with("iss", json!("https://evil.example.com")),
            "The access token is of another issuer.",
        ),
        (
            with("aud", json!("other")),
            "The access token is for another audience.",
        ),
        (
            with("exp", Value::Null),
            "The access token: it has no claim 'exp'.",
        ),
        (
            with("exp", json!("soon")),
            "The access token: its claim 'exp' is not a time in seconds.",
        ),
        (
            with("sub", json!({})),
            "The access token: its claim 'sub' is not a text.",
        ),
        (
            with("sub", Value::Null),
            "The access token: it has no claim 'sub'.",
        ),
        (
            with("account_id", Value::Null),
            "The access token: it has no claim 'account_id', which says the account.",
        ),
        (
            with("account_id", json!("a#b")),
            "The access token: The account id must be",
        ),
        (
            with("project_id", json!("../other")),
            "The access token: The project id must be",
        ),
        (with("sub", json!("")), "The access token: The user id must be"),
    ] {
        let refused = refusal(&setup, &issuer.token(&claims)).await;
        assert!(refused.starts_with(sentence), "{refused}");
    }
}

#[tokio::test]
async fn a_new_key_is_found_and_a_withdrawn_one_forgotten() {
    let (old, new) = (
        Issuer::new(Algorithm::ES256, "old"),
        Issuer::new(Algorithm::EdDSA, "new"),
    );
    let setup = setup(&[&old], None);
    let lasting = |issuer: &Issuer| issuer.token(&with("exp", json!(start().as_seconds() + 7_200)));
    setup.verify(&lasting(&old)).await.unwrap();

    write_keys(&setup.path, &[&new]);
    // Not read again immediately: a flood of tokens with invented key ids must not cause a flood of reads.
    refusal(&setup, &lasting(&new)).await;
    setup.clock.advance_ms(31_000);
    setup.verify(&lasting(&new)).await.unwrap();
    refusal(&setup, &lasting(&old)).await;
}

#[tokio::test]
async fn a_token_that_was_checked_still_expires_and_loses_its_key() {
    let (old, new) = (
        Issuer::new(Algorithm::ES256, "k1"),
        Issuer::new(Algorithm::ES256, "k1"),
    );
    let setup = setup(&[&old], None);
    let token = old.token(&claims());
    for _ in 0..3 {
        setup.verify(&token).await.unwrap();
    }
    setup.clock.advance_ms(631_000);
    assert_eq!(
        refusal(&setup, &token).await,
        "The access token has expired; get a new one."
    );

    let lasting = old.token(&with("exp", json!(start().as_seconds() + 7_200)));
    for _ in 0..3 {
        setup.verify(&lasting).await.unwrap();
    }
    write_keys(&setup.path, &[&new]);
    setup.clock.advance_ms(5 * 60 * 1_000);
    assert_eq!(
        refusal(&setup, &lasting).await,
        "The signature of the access token does not hold."
    );
}

#[tokio::test]
async fn known_keys_outlive_an_issuer_that_is_away_by_ten_minutes_at_most() {
    let issuer = Issuer::new(Algorithm::ES256, "k1");
    let setup = setup(&[&issuer], Some(SECRET));
    let lasting = with("exp", json!(start().as_seconds() + 7_200));
    let token = issuer.token(&lasting);
    // One verifier has cached the token's claims, as it does after the first check.
    for _ in 0..2 {
        setup.verify(&token).await.unwrap();
    }
    std::fs::remove_file(&setup.path).unwrap();
    for minute in 1..10 {
        setup.clock.advance_ms(60_000);
        let verified = setup.verify(&token).await;
        assert!(verified.is_ok(), "minute {minute}");
    }
    setup.clock.advance_ms(60_000);
    for _ in 0..3 {
        // Our fault, and not the caller's: the token may be valid.
        let error = setup.verify(&token).await.unwrap_err();
        assert_eq!(error.status(), 503);
        setup.clock.advance_ms(31_000);
    }
    // What the key set does not decide stays valid.
    let key = EncodingKey::from_secret(SECRET.as_bytes());
    let shared = encode(&Header::new(Algorithm::HS256), &lasting, &key).unwrap();
    setup.verify(&shared).await.unwrap();
    write_keys(&setup.path, &[&issuer]);
    setup.verify(&token).await.unwrap();
}

#[tokio::test]
async fn keys_are_not_used_for_longer_by_a_clock_that_goes_back() {
    let issuer = Issuer::new(Algorithm::ES256, "k1");
    let setup = setup(&[&issuer], None);
    let token = issuer.token(&with("exp", json!(start().as_seconds() + 7_200)));
    setup.verify(&token).await.unwrap();
    std::fs::remove_file(&setup.path).unwrap();
    setup.clock.advance_ms(-3_600_000);
    assert_eq!(setup.verify(&token).await.unwrap_err().status(), 503);
}

#[tokio::test]
async fn a_key_set_that_cannot_be_read_is_our_fault_and_not_the_callers() {
    let issuer = Issuer::new(Algorithm::ES256, "k1");
    let setup = setup(&[&issuer], None);
    std::fs::write(&setup.path, "not json").unwrap();
    let error = setup.verify(&issuer.token(&claims())).await.unwrap_err();
    assert_eq!(error.status(), 503);
    write_keys(&setup.path, &[&issuer]);
    // Requests meanwhile do not wait for attempts of their own.
    let error = setup.verify(&issuer.token(&claims())).await.unwrap_err();
    assert_eq!(error.status(), 503);
    setup.clock.advance_ms(1_000);
    setup.verify(&issuer.token(&claims())).await.unwrap();
}

#[tokio::test]
async fn a_clock_that_goes_back_does_not_prolong_the_pause_after_a_failed_read() {
    let issuer = Issuer::new(Algorithm::ES256, "k1");
    let setup = setup(&[&issuer], None);
    std::fs::write(&setup.path, "not json").unwrap();
    let error = setup.verify(&issuer.token(&claims())).await.unwrap_err();
    assert_eq!(error.status(), 503);
    write_keys(&setup.path, &[&issuer]);
    setup.clock.advance_ms(-20_000);
    setup.verify(&issuer.token(&claims())).await.unwrap();
}
