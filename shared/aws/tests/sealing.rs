//! Tests sealing with KMS against a stand-in that speaks its protocol and binds the encryption context, as
//! KMS does.
#![cfg(test)]

use aws::{Keys, KmsSealer, sdk_config_for};
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use platform::config::Secret;
use platform::sealing::{Place, Sealer};
use platform::{ErrorKind, Tenant};
use serde_json::{Value, json};

const KEY: &str = "alias/millrace";

/// Its ciphertext is key, context and plaintext as JSON: what KMS binds together, in readable form.
async fn kms(headers: HeaderMap, body: Bytes) -> (StatusCode, Json<Value>) {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let ours = json!({ "key": request["KeyId"], "context": request["EncryptionContext"] });
    match headers["x-amz-target"].to_str().unwrap() {
        "TrentService.Encrypt" => {
            let sealed = json!([ours, request["Plaintext"]]).to_string();
            (
                StatusCode::OK,
                Json(json!({ "CiphertextBlob": BASE64.encode(sealed), "KeyId": KEY })),
            )
        }
        "TrentService.Decrypt" => {
            let blob = BASE64
                .decode(request["CiphertextBlob"].as_str().unwrap())
                .unwrap();
            match serde_json::from_slice::<(Value, Value)>(&blob) {
                Ok((bound, plaintext)) if bound == ours => (
                    StatusCode::OK,
                    Json(json!({ "Plaintext": plaintext, "KeyId": KEY })),
                ),
                _ => (
                    StatusCode::BAD_REQUEST,
                    Json(json!({ "__type": "InvalidCiphertextException" })),
                ),
            }
        }
        other => panic!("{other} was called"),
    }
}

async fn stand_in() -> KmsSealer {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        axum::serve(listener, Router::new().route("/", post(kms)))
            .await
            .unwrap();
    });
    KmsSealer::connect(
        &sdk_config_for(&endpoint, Keys::signing(&Secret::new("key"))),
        KEY.to_owned(),
    )
}

#[tokio::test]
async fn a_secret_opens_where_it_was_sealed_and_nowhere_else() {
    let sealer = stand_in().await;
    let (ours, theirs) = (
        Tenant::new("acme", "demo").unwrap(),
        Tenant::new("other", "demo").unwrap(),
    );
    let place = Place {
        tenant: &ours,
        name: "channel/1",
    };
    let sealed = sealer.seal(place, &Secret::new("whsec_1")).await.unwrap();
    assert_eq!(sealer.open(place, &sealed).await.unwrap().expose(), "whsec_1");

    let elsewhere = [
        Place {
            tenant: &theirs,
            name: "channel/1",
        },
        Place {
            tenant: &ours,
            name: "channel/2",
        },
    ];
    for place in elsewhere {
        let refusal = sealer.open(place, &sealed).await.unwrap_err();
        assert_eq!(refusal.kind(), ErrorKind::Internal, "{refusal}");
    }
}

#[tokio::test]
async fn kms_out_of_reach_is_worth_a_repetition() {
    let nobody = KmsSealer::connect(
        &sdk_config_for("http://127.0.0.1:9", Keys::signing(&Secret::new("key"))),
        KEY.to_owned(),
    );
    let tenant = Tenant::new("acme", "demo").unwrap();
    let place = Place {
        tenant: &tenant,
        name: "channel/1",
    };
    let failure = nobody.seal(place, &Secret::new("whsec_1")).await.unwrap_err();
    assert_eq!(failure.kind(), ErrorKind::Unavailable, "{failure}");
    assert!(!failure.to_string().contains("whsec"));
}
