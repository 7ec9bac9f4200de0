//! Tests API keys and memberships.

use std::sync::Arc;

use identity::api_key::{self, NewApiKey};
use identity::records::members::{Member, member_id};
use jsonwebtoken::Algorithm;
use platform::auth::{Permission, Role};
use platform::config::variables;
use platform::{Tenant, UtcTime};
use serde_json::json;

use crate::issuer::{Issuer, write_keys};
use crate::setup::{NoServiceKey, Setup, start};

fn setup() -> (Setup, Issuer, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jwks.json");
    let issuer = Issuer::new(Algorithm::ES256, "k1");
    write_keys(&path, &[&issuer]);
    let settings = json!({
        "issuer": "https://id.example", "jwks": path.to_str().unwrap(), "audience": "m", "memberships": true,
        "account": "org", "project": "project", "roles": "roles",
    });
    let setup = Setup::new(
        &[(variables::IDENTITY, &settings.to_string())],
        Arc::new(NoServiceKey),
    );
    (setup, issuer, folder)
}

fn member(user: &str, project: (&str, &str), roles: &[Role]) -> Member {
    Member {
        id: member_id(user),
        user_id: user.to_owned(),
        account_id: project.0.to_owned(),
        project_id: project.1.to_owned(),
        roles: roles.to_vec(),
        name: None,
        version: 1,
        created_at: start(),
        created_by: "system".to_owned(),
        updated_at: start(),
        updated_by: "system".to_owned(),
    }
}

fn token(issuer: &Issuer, claims: serde_json::Value) -> String {
    let mut all = json!({
        "iss": "https://id.example", "aud": "m", "sub": "auth0|ada", "exp": start().as_seconds() + 3_600,
    });
    for (name, value) in claims.as_object().unwrap() {
        all[name] = value.clone();
    }
    issuer.token(&all)
}

#[tokio::test]
async fn token_needs_only_a_user_where_memberships_say_the_project() {
    let (setup, issuer, _folder) = setup();
    let token = token(&issuer, json!({}));
    let refusal = setup.refusal(&token, None, 403).await;
    assert!(
        refusal.contains("'auth0|ada' is a member of no project"),
        "{refusal}"
    );

    setup
        .members
        .insert(&member("auth0|ada", ("acme", "demo"), &[Role::Reader]))
        .await
        .unwrap();
    setup
        .members
        .insert(&member("auth0|bob", ("acme", "other"), &[Role::Developer]))
        .await
        .unwrap();
    // What was read a moment ago still counts.
    setup.refusal(&token, None, 403).await;
    setup.clock.advance_ms(30_000);
    let principal = setup.verify(&token).await.unwrap();
    assert_eq!(principal.reference(), "user:auth0|ada");
    assert_eq!(principal.tenant().unwrap().to_string(), "acme/demo");
    assert_eq!(principal.roles, ["reader"]);
    for named in ["demo", "acme/demo"] {
        assert!(setup.verify_in(&token, Some(named)).await.is_ok(), "{named}");
    }
    let refusal = setup.refusal(&token, Some("other"), 403).await;
    assert_eq!(
        refusal,
        "The user is no member of the project 'other', but of acme/demo."
    );

    let tenant = Tenant::new("acme", "demo").unwrap();
    let ada = setup.members.get(&tenant, &member_id("auth0|ada")).await.unwrap();
    setup.members.remove(&ada).await.unwrap();
    setup.clock.advance_ms(30_000);
    setup.refusal(&token, None, 403).await;
}

#[tokio::test]
async fn member_of_several_projects_chooses_one() {
    let (setup, issuer, _folder) = setup();
    for (project, role) in [
        (("acme", "a"), Role::Reader),
        (("acme", "b"), Role::Developer),
        (("umbrella", "b"), Role::Executor),
    ] {
        setup
            .members
            .insert(&member("auth0|ada", project, &[role]))
            .await
            .unwrap();
    }
    let plain = token(&issuer, json!({}));
    let refusal = setup.refusal(&plain, None, 403).await;
    assert!(
        refusal.contains("X-Millrace-Project: acme/a, acme/b, umbrella/b"),
        "{refusal}"
    );
    let refusal = setup.refusal(&plain, Some("b"), 403).await;
    assert!(
        refusal.contains("Several accounts have a project 'b'"),
        "{refusal}"
    );
    for (named, project, role) in [
        ("a", "acme/a", "reader"),
        ("acme/b", "acme/b", "developer"),
        ("umbrella/b", "umbrella/b", "executor"),
    ] {
        let principal = setup.verify_in(&plain, Some(named)).await.unwrap();
        assert_eq!(principal.tenant().unwrap().to_string(), project);
        assert_eq!(principal.roles, [role]);
    }
    // What the token says counts in its own project alone.
    let scoped = token(
        &issuer,
        json!({ "org": "acme", "project": "b", "roles": ["account_admin"] }),
    );
    let own = setup.verify(&scoped).await.unwrap();
    assert_eq!(own.tenant().unwrap().to_string(), "acme/b");
    assert!(own.permissions.contains(&Permission::AccountAdmin));
    assert!(own.permissions.contains(&Permission::WorkflowAdmin));
    let other = setup.verify_in(&scoped, Some("a")).await.unwrap();
    assert_eq!(other.roles, ["reader"]);
    assert!(!other.permissions.contains(&Permission::AccountAdmin));
    setup.refusal(&scoped, Some("nowhere"), 403).await;
    // An administrator of another account adds the user to no project of the token's account.
    setup.refusal(&scoped, Some("umbrella/b"), 403).await;
    let account = token(&issuer, json!({ "org": "acme" }));
    let refusal = setup.refusal(&account, None, 403).await;
    assert!(refusal.contains("acme/a, acme/b."), "{refusal}");
    assert_eq!(
        setup.verify_in(&account, Some("b")).await.unwrap().roles,
        ["developer"]
    );
    let foreign = token(&issuer, json!({ "org": "elsewhere" }));
    setup.refusal(&foreign, None, 403).await;
    setup.refusal(&foreign, Some("umbrella/b"), 403).await;
}

#[tokio::test]
async fn administrator_of_an_account_names_each_of_its_projects() {
    let (setup, issuer, _folder) = setup();
    let token = token(&issuer, json!({ "org": "acme", "roles": ["account_admin"] }));
    assert_eq!(setup.verify(&token).await.unwrap().project_id, None);
    for named in ["any", "acme/any"] {
        let principal = setup.verify_in(&token, Some(named)).await.unwrap();
        assert_eq!(principal.tenant().unwrap().to_string(), "acme/any");
    }
    setup.refusal(&token, Some("umbrella/any"), 403).await;
    setup.refusal(&token, Some("a b"), 403).await;
}

#[tokio::test]
async fn member_is_changed_by_one_writer_at_a_time() {
    let (setup, _, _folder) = setup();
    let first = member("auth0|ada", ("acme", "demo"), &[Role::Reader]);
    setup.members.insert(&first).await.unwrap();
    assert_eq!(setup.members.insert(&first).await.unwrap_err().status(), 409);
    let second = Member {
        version: 2,
        roles: vec![Role::Developer],
        ..first.clone()
    };
    setup.members.save(&second).await.unwrap();
    assert_eq!(setup.members.save(&second).await.unwrap_err().status(), 409);
    let tenant = Tenant::new("acme", "demo").unwrap();
    assert_eq!(setup.members.get(&tenant, &first.id).await.unwrap(), second);
    assert_eq!(
        setup.members.of_user("auth0|ada").await.unwrap(),
        std::slice::from_ref(&second)
    );
    // Who read the first version did not see what the member may do by now.
    assert_eq!(setup.members.remove(&first).await.unwrap_err().status(), 409);
    setup.members.remove(&second).await.unwrap();
    assert_eq!(setup.members.remove(&second).await.unwrap_err().status(), 409);
    assert!(setup.members.of_user("auth0|ada").await.unwrap().is_empty());
}

async fn key(setup: &Setup, expires_at: Option<UtcTime>) -> String {
    let tenant = Tenant::new("acme", "demo").unwrap();
    let new = NewApiKey {
        id: "k1".to_owned(),
        name: "ci".to_owned(),
        roles: vec!["automation".to_owned()],
        created_by: "user:ada".to_owned(),
        expires_at,
    };
    let (record, key) = api_key::create(&tenant, new, setup.clock.now());
    setup.keys.insert(&tenant, &record).await.unwrap();
    key.expose().to_owned()
}

#[tokio::test]
async fn key_opens_until_it_expires_and_notes_its_last_use() {
    let (setup, _, _folder) = setup();
    let key = key(&setup, Some(start().plus_ms(3 * 3_600_000))).await;
    let tenant = Tenant::new("acme", "demo").unwrap();
    let principal = setup.verify(&key).await.unwrap();
    assert_eq!(principal.reference(), "apikey:k1");
    assert_eq!(principal.valid_until, Some(start().plus_ms(3 * 3_600_000)));
    assert!(setup.verify_in(&key, Some("acme/demo")).await.is_ok());
    assert!(
        setup
            .refusal(&key, Some("other"), 403)
            .await
            .contains("for the project acme/demo")
    );
    let last = |keys: &identity::records::api_keys::ApiKeys| {
        let (keys, tenant) = (keys.clone(), tenant.clone());
        async move { keys.get(&tenant, "k1").await.unwrap().last_used_at }
    };
    assert_eq!(last(&setup.keys).await, Some(start()));
    setup.clock.advance_ms(3_599_000);
    setup.verify(&key).await.unwrap();
    assert_eq!(last(&setup.keys).await, Some(start()));
    setup.clock.advance_ms(1_000);
    setup.verify(&key).await.unwrap();
    assert_eq!(last(&setup.keys).await, Some(start().plus_ms(3_600_000)));
    setup.clock.advance_ms(2 * 3_600_000);
    assert!(setup.refusal(&key, None, 401).await.contains("has expired"));
}

#[tokio::test]
async fn secret_before_a_rotation_opens_until_the_overlap_ends() {
    let (setup, _, _folder) = setup();
    let first = key(&setup, None).await;
    let tenant = Tenant::new("acme", "demo").unwrap();
    let rotate = |until: UtcTime| {
        let (keys, tenant) = (setup.keys.clone(), tenant.clone());
        async move {
            let before = keys.get(&tenant, "k1").await.unwrap();
            let (next, text) = api_key::rotated(before.clone(), until);
            keys.rotate(&tenant, &next, &before).await.unwrap();
            // The same rotation again is of a key that has changed.
            assert_eq!(
                keys.rotate(&tenant, &next, &before).await.unwrap_err().status(),
                409
            );
            text.expose().to_owned()
        }
    };
    let second = rotate(start().plus_ms(60_000)).await;
    for key in [&first, &second] {
        assert_eq!(setup.verify(key).await.unwrap().reference(), "apikey:k1");
    }
    setup.clock.advance_ms(60_000);
    assert!(setup.refusal(&first, None, 401).await.contains("was rotated"));
    setup.verify(&second).await.unwrap();
    let third = rotate(start().plus_ms(120_000)).await;
    assert_eq!(
        setup.refusal(&first, None, 401).await,
        "The API key does not hold."
    );
    setup.verify(&second).await.unwrap();
    setup.verify(&third).await.unwrap();
    setup.keys.remove(&tenant, "k1").await.unwrap();
    for key in [&first, &second, &third] {
        assert_eq!(setup.refusal(key, None, 401).await, "The API key does not hold.");
    }
}
