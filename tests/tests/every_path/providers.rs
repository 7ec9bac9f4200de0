//! Tests the tokens of three identity providers at once, whose claims settings map: as Auth0, Keycloak and
//! Cognito shape them. The deployed stage has the same settings.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tests::{Operator, Service};

/// The service, and the key of all providers.
struct World {
    service: Service,
    key: EncodingKey,
    _folder: tempfile::TempDir,
}

fn providers() -> Vec<Value> {
    serde_json::from_str(include_str!("../../data/providers.json")).unwrap()
}

impl World {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (keys, variables) = match std::env::var_os("KEYS_DIR") {
            Some(deployed) => (PathBuf::from(deployed).join("keys"), None),
            None => {
                Operator::new(folder.path()).json(&["token", "--make-keys"]);
                let keys = folder.path().join("keys");
                let settings = providers().into_iter().map(|provider| {
                    let mut settings = provider["settings"].clone();
                    settings["jwks"] = json!(keys.join("jwks.json"));
                    settings
                });
                let settings = Value::from_iter(settings).to_string();
                (keys, Some(settings))
            }
        };
        let service = match &variables {
            Some(settings) => Service::start_local_with(&[("MILLRACE_IDENTITY", settings)]).await,
            None => Service::start().await,
        };
        let key = std::fs::read(keys.join("token-signing.pkcs8")).unwrap();
        Self {
            service,
            key: EncodingKey::from_ec_der(&key),
            _folder: folder,
        }
    }

    /// Returns a token with these claims, which holds for an hour.
    fn token(&self, claims: &Value) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut claims = claims.clone();
        for (name, time) in [("iat", now), ("exp", now + 3_600)] {
            if claims.get(name).is_none() {
                claims[name] = json!(time);
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

    // A token of Cognito says no project: nothing is open until the user is a member.
    service
        .get(&member, "/prompts")
        .await
        .expect_error(403, "forbidden");
    let user = &cognito["claims"]["sub"];
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
