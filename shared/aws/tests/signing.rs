//! Tests signing with KMS against a stand-in that speaks its protocol: which key signs, and which public keys
//! are read, once.
#![cfg(test)]

use std::sync::{Arc, Mutex};

use aws::{Keys, KmsSigningKey, sdk_config_for};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use platform::config::Secret;
use platform::signing::SigningKey as _;
use serde_json::{Value, json};

/// Operation and key of each call.
type Calls = Arc<Mutex<Vec<String>>>;

/// Its public keys and signatures are the ids of the keys.
async fn kms(State(calls): State<Calls>, headers: HeaderMap, body: Bytes) -> Json<Value> {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let key = request["KeyId"].as_str().unwrap();
    let operation = headers["x-amz-target"]
        .to_str()
        .unwrap()
        .replace("TrentService.", "");
    calls.lock().unwrap().push(format!("{operation} {key}"));
    let text = BASE64.encode(key);
    Json(match operation.as_str() {
        "GetPublicKey" => json!({ "KeyId": key, "PublicKey": text }),
        "Sign" => json!({ "KeyId": key, "Signature": text }),
        other => panic!("{other} was called"),
    })
}

async fn stand_in(key_ids: &str) -> (KmsSigningKey, Calls) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let calls = Calls::default();
    let router = Router::new().route("/", post(kms)).with_state(Arc::clone(&calls));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let sdk = sdk_config_for(&endpoint, Keys::signing(&Secret::new("key")));
    (KmsSigningKey::connect(&sdk, key_ids), calls)
}

#[tokio::test]
async fn first_key_signs_and_the_others_are_only_read() {
    let (key, calls) = stand_in("new,old, older").await;
    for _ in 0..2 {
        assert_eq!(key.sign(b"message").await.unwrap(), b"new");
        assert_eq!(key.public_key().await.unwrap(), b"new");
        let earlier = key.earlier_keys().await.unwrap();
        let public_keys: Vec<_> = earlier.iter().map(|key| key.public_key.as_slice()).collect();
        assert_eq!(public_keys, [&b"old"[..], b"older"]);
        assert!(earlier.iter().all(|key| key.replaced_at.is_none()));
    }
    assert_eq!(
        *calls.lock().unwrap(),
        [
            "Sign new",
            "GetPublicKey new",
            "GetPublicKey old",
            "GetPublicKey older",
            "Sign new"
        ]
    );
}

#[tokio::test]
async fn key_that_replaced_none_has_no_earlier_ones() {
    let (key, calls) = stand_in("arn:aws:kms:eu-central-1:123456789012:key/1").await;
    assert_eq!(key.earlier_keys().await.unwrap(), []);
    assert!(calls.lock().unwrap().is_empty());
}
