//! Tests the tokens of three identity providers at once, whose claims settings map: as Auth0, Keycloak and
//! Cognito shape them. The deployed stage has the same settings.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tests::{Operator, Service, variable};

/// The service, and the key of all providers.
struct World {
    service: Service,
    key: EncodingKey,
    /// Claims of a fresh token, whose times the tokens of the providers have.
    fresh: Value,
    _folder: tempfile::TempDir,
}

fn providers() -> Vec<Value> {
    serde_json::from_str(include_str!("../../data/providers.json")).unwrap()
}

impl World {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let deployed = variable("KEYS_DIR");
        let keys = deployed.as_deref().map_or(folder.path(), Path::new);
        let token = Operator::new(keys).token(&["--make-keys"]);
        let keys = keys.join("keys");
        let settings = providers().into_iter().map(|provider| {
            let mut settings = provider["settings"].clone();
            settings["jwks"] = json!(keys.join("jwks.json"));
            settings
        });
        let settings = Value::from_iter(settings).to_string();
        let service = Service::start_with(&[("MILLRACE_IDENTITY", &settings)]).await;
        let key = std::fs::read(keys.join("token-signing.pkcs8")).unwrap();
        let claims = token.split('.').nth(1).unwrap();
        let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap();
        Self {
            service,
            key: EncodingKey::from_ec_der(&key),
            fresh: serde_json::from_slice(&claims).unwrap(),
            _folder: folder,
        }
    }

    /// Returns a token with these claims, and with the times of a fresh one where they have none.
    fn token(&self, claims: &Value) -> String {
        let mut claims = claims.clone();
        for name in ["iat", "exp"] {
            if claims.get(name).is_none() {
                claims[name] = self.fresh[name].clone();
            }
        }
        jsonwebtoken::encode(&Header::new(Algorithm::ES256), &claims, &self.key).unwrap()
    }
}

#[tokio::test]
async fn tokens_of_three_mapped_providers_open_the_api() {
    let world = World::start().await;
    let service = &world.service;
    let [auth0, keycloak, cognito] = &providers()[..] else {
        panic!("there are three providers")
    };
    let [admin, automation, member] =
        [auth0, keycloak, cognito].map(|provider| world.token(&provider["claims"]));

    // A token of Cognito says no project: nothing is open to a user who is no member.
    let mut claims = cognito["claims"].clone();
    claims["sub"] = json!("stranger");
    let stranger = service.get(&world.token(&claims), "/prompts").await;
    stranger.expect_error(403, "forbidden");
    let user = cognito["reference"].as_str().unwrap().trim_start_matches("user:");
    let body = json!({ "user_id": user, "roles": cognito["roles"] });
    let added = service.post(&admin, "/members", &body).await;
    assert!([200, 201, 409].contains(&added.status), "{added:?}");

    for (provider, token) in [(auth0, &admin), (keycloak, &automation), (cognito, &member)] {
        let name = &provider["name"];
        let me = service.get(token, "/me").await.expect_status(200);
        let principal = &me.body["principal"];
        assert_eq!(principal["reference"], provider["reference"], "{name}");
        assert_eq!(principal["account_id"], "acme", "{name}");
        assert_eq!(principal["project_id"], "providers", "{name}");
        let mut roles = principal["roles"].as_array().unwrap().clone();
        roles.sort_by_key(Value::to_string);
        assert_eq!(&Value::from(roles), &provider["roles"], "{name}");
        for change in provider["refused"].as_array().unwrap() {
            let mut claims = provider["claims"].clone();
            let fields = change.as_object().unwrap().clone();
            claims.as_object_mut().unwrap().extend(fields);
            let refused = service.get(&world.token(&claims), "/me").await;
            refused.expect_error(401, "unauthenticated");
        }
    }

    // Each role opens what it has, in the one project.
    let prompt = json!({ "name": "Greeting", "role": "system", "content": "Hello.", "content_type": "jst" });
    let created = service.post(&admin, "/prompts", &prompt).await.expect_status(201);
    let path = format!("/prompts/{}", created.id());
    service.get(&automation, &path).await.expect_status(200);
    service.get(&member, &path).await.expect_status(200);
    for token in [&automation, &member] {
        service.delete(token, &path).await.expect_error(403, "forbidden");
    }
    let elsewhere = service
        .get(&member, &path)
        .header("x-millrace-project", "other")
        .await;
    elsewhere.expect_error(403, "forbidden");
    service.delete(&admin, &path).await.expect_status(200);
}
