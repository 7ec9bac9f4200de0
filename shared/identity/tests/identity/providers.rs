//! Tests a token of each common identity provider, in the shape of the provider's documents, under the
//! settings of `docs/identity.md`.

use std::sync::Arc;

use jsonwebtoken::Algorithm;
use platform::auth::Permission;
use platform::config::{Environment, variables};
use serde_json::{Value, json};

use crate::issuer::{Issuer, write_keys};
use crate::setup::{NoServiceKey, Setup, start};

/// A provider with its key set in a file.
struct Provider {
    issuer: Issuer,
    setup: Setup,
    _folder: tempfile::TempDir,
}

/// Builds a setup with one provider, whose settings are `settings` and a file of keys.
fn provider(settings: Value) -> Provider {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jwks.json");
    let issuer = Issuer::new(Algorithm::RS256, "k1");
    write_keys(&path, &[&issuer]);
    let mut settings = settings;
    settings["jwks"] = json!(path.to_str().unwrap());
    Provider {
        setup: Setup::new(
            &[(variables::IDENTITY, &settings.to_string())],
            Arc::new(NoServiceKey),
        ),
        issuer,
        _folder: folder,
    }
}

/// Adds the times of a fresh token.
fn fresh(mut claims: Value) -> Value {
    let now = start().as_seconds();
    for (name, time) in [("iat", now), ("nbf", now), ("exp", now + 3_600)] {
        claims[name] = json!(time);
    }
    claims
}

impl Provider {
    fn token(&self, claims: Value) -> String {
        self.issuer.token(&fresh(claims))
    }
}

/// A provider's settings, a token of it, and who it is: reference, account, project, roles.
struct Case {
    name: &'static str,
    settings: Value,
    token: Value,
    principal: (&'static str, &'static str, &'static str, &'static [&'static str]),
    /// Changes of the token that must be refused with 401.
    refused: Vec<(&'static str, Value)>,
}

fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "auth0",
            settings: json!({
                "preset": "auth0", "issuer": "https://acme.eu.auth0.com/", "audience": "https://millrace.example.com",
                "account": { "value": "acme" }, "project": { "value": "demo" },
                "roles": { "claim": "https://millrace.example.com/roles", "map": { "Editors": "developer" } },
            }),
            token: json!({
                "iss": "https://acme.eu.auth0.com/", "sub": "auth0|507f1f77bcf86cd799439020",
                "aud": ["https://millrace.example.com", "https://acme.eu.auth0.com/userinfo"], "azp": "my_client_id",
                "scope": "openid profile email", "https://millrace.example.com/roles": ["Editors", "account_admin"],
                "permissions": ["audit:read", "read:calendar"],
            }),
            principal: (
                "user:auth0|507f1f77bcf86cd799439020",
                "acme",
                "demo",
                &["developer"],
            ),
            refused: vec![
                ("aud", json!("https://acme.eu.auth0.com/userinfo")),
                ("iss", json!("https://acme.eu.auth0.com")),
            ],
        },
        Case {
            name: "cognito access token",
            settings: json!({
                "preset": "cognito", "issuer": "https://cognito-idp.us-east-1.amazonaws.com/us-east-1_example",
                "audience": ["1example23456789", "another"],
                "account": { "value": "acme" }, "project": { "value": "demo" },
                "roles": { "map": { "admins": ["developer", "project_admin"], "staff": "reader" } },
            }),
            token: json!({
                "sub": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "cognito:groups": ["admins", "other"],
                "iss": "https://cognito-idp.us-east-1.amazonaws.com/us-east-1_example", "client_id": "1example23456789",
                "origin_jti": "cccccccc", "event_id": "dddddddd", "token_use": "access", "scope": "aws.cognito.signin.user.admin",
                "auth_time": 1_700_000_000, "jti": "e", "username": "my-test-user",
            }),
            principal: (
                "user:aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
                "acme",
                "demo",
                &["developer", "project_admin"],
            ),
            refused: vec![("client_id", json!("foreign")), ("token_use", json!("id"))],
        },
        Case {
            name: "entra",
            settings: json!({
                "preset": "entra", "issuer": "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0",
                "audience": "6e74172b-be56-4843-9ff4-e66a39bb12e3", "account": "tid", "project": { "claim": "extn.project", "default": "main" },
                "roles": { "map": { "Millrace.Run": "executor" } },
            }),
            token: json!({
                "aud": "6e74172b-be56-4843-9ff4-e66a39bb12e3", "iss": "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0",
                "azp": "6e74172b-be56-4843-9ff4-e66a39bb12e3", "azpacr": "0", "name": "Abe Lincoln",
                "oid": "690222be-ff1a-4d56-abd1-7e4f7d38e474", "preferred_username": "abeli@microsoft.com", "rh": "I",
                "roles": ["Millrace.Run"], "scp": "access_as_user", "sub": "HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ",
                "tid": "72f988bf-86f1-41af-91ab-2d7cd011db47", "uti": "fqiBqXLPj0eQa82S-IYFAA", "ver": "2.0",
            }),
            principal: (
                "user:690222be-ff1a-4d56-abd1-7e4f7d38e474",
                "72f988bf-86f1-41af-91ab-2d7cd011db47",
                "main",
                &["executor"],
            ),
            refused: vec![("aud", json!("00000003-0000-0000-c000-000000000000"))],
        },
        Case {
            name: "keycloak",
            settings: json!({
                "preset": "keycloak", "issuer": "https://sso.example.com/realms/acme", "audience": "millrace",
                "account": { "value": "acme" }, "project": "organization",
                "roles": ["realm_access.roles", "resource_access.millrace.roles"],
            }),
            token: json!({
                "iss": "https://sso.example.com/realms/acme", "aud": "account", "sub": "f:5b1c:ada", "typ": "Bearer",
                "azp": "millrace", "organization": ["demo"],
                "realm_access": { "roles": ["offline_access", "uma_authorization", "reader"] },
                "resource_access": { "millrace": { "roles": ["automation"] }, "account": { "roles": ["manage-account"] } },
                "scope": "email profile", "preferred_username": "ada",
            }),
            principal: (
                "user:f:5b1c:ada",
                "acme",
                "demo",
                &["offline_access", "uma_authorization", "reader", "automation"],
            ),
            refused: vec![
                ("azp", json!("other")),
                ("organization", json!(["a", "b"])),
                ("typ", json!("ID")),
            ],
        },
        Case {
            name: "okta",
            settings: json!({
                "preset": "okta", "issuer": "https://acme.okta.com/oauth2/default", "audience": "api://default",
                "account": { "value": "acme" }, "project": { "value": "demo" },
                "permissions": { "claim": "scp", "map": { "millrace.runs": "workflow:run" } },
            }),
            token: json!({
                "ver": 1, "jti": "AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE",
                "iss": "https://acme.okta.com/oauth2/default", "aud": "api://default", "cid": "nmdP1fcyvdVO11AL7ECm",
                "uid": "00ugmbg0xpJRTQIYm0h7", "scp": ["openid", "millrace.runs"], "sub": "ada@acme.com", "groups": ["reader"],
            }),
            principal: ("user:00ugmbg0xpJRTQIYm0h7", "acme", "demo", &["reader"]),
            refused: vec![("aud", json!("api://other"))],
        },
        Case {
            name: "google",
            settings: json!({
                "preset": "google", "audience": "1234987819200.apps.googleusercontent.com", "require": { "hd": "example.com" },
                "account": "hd", "project": { "value": "demo" }, "roles": { "always": ["reader"] },
            }),
            token: json!({
                "iss": "accounts.google.com", "azp": "1234987819200.apps.googleusercontent.com",
                "aud": "1234987819200.apps.googleusercontent.com", "sub": "10769150350006150715113082367",
                "at_hash": "HK6E_P6Dh8Y93mRNtsDB1Q", "hd": "example.com", "email": "jsmith@example.com", "email_verified": true,
            }),
            principal: (
                "user:10769150350006150715113082367",
                "example.com",
                "demo",
                &["reader"],
            ),
            refused: vec![("hd", json!("evil.example")), ("hd", Value::Null)],
        },
        Case {
            name: "github actions",
            settings: json!({
                "preset": "github_actions", "audience": "millrace", "user_prefix": "ci:",
                "require": { "repository": "octo-org/octo-repo", "environment": ["prod", "staging"] },
                "account": { "value": "acme" }, "project": { "value": "demo" }, "roles": { "always": ["automation"] },
            }),
            token: json!({
                "jti": "example-id", "sub": "repo:octo-org/octo-repo:environment:prod", "environment": "prod", "aud": "millrace",
                "ref": "refs/heads/main", "sha": "example-sha", "repository": "octo-org/octo-repo", "repository_owner": "octo-org",
                "run_id": "example-run-id", "repository_visibility": "private", "runner_environment": "github-hosted",
                "job_workflow_ref": "octo-org/octo-automation/.github/workflows/oidc.yml@refs/heads/main",
                "iss": "https://token.actions.githubusercontent.com",
            }),
            principal: (
                "user:ci:repo:octo-org/octo-repo:environment:prod",
                "acme",
                "demo",
                &["automation"],
            ),
            refused: vec![
                ("repository", json!("evil-org/octo-repo")),
                ("environment", json!("dev")),
                ("sub", json!("")),
            ],
        },
    ]
}

#[tokio::test]
async fn token_of_each_provider_becomes_a_principal() {
    for case in cases() {
        let provider = provider(case.settings);
        let principal = provider.setup.verify(&provider.token(case.token.clone())).await;
        let principal = principal.unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let (reference, account, project, roles) = case.principal;
        assert_eq!(principal.reference(), reference, "{}", case.name);
        assert_eq!(principal.account_id, account, "{}", case.name);
        assert_eq!(principal.project_id.as_deref(), Some(project), "{}", case.name);
        assert_eq!(principal.roles, roles, "{}", case.name);
        for (claim, value) in case.refused {
            let mut token = case.token.clone();
            token[claim] = value.clone();
            let refusal = provider.setup.verify(&provider.token(token)).await;
            let refusal = refusal.map(|principal| principal.reference());
            let error = refusal.expect_err(&format!("{} with {claim} {value}", case.name));
            assert_eq!(error.status(), 401, "{} with {claim} {value}: {error}", case.name);
        }
    }
}

#[tokio::test]
async fn permission_of_a_provider_counts_where_settings_say_so() {
    let mut cases = cases();
    let case =
        |cases: &mut Vec<Case>, name| cases.remove(cases.iter().position(|case| case.name == name).unwrap());
    for (name, permission) in [
        ("auth0", Permission::AuditRead),
        ("okta", Permission::WorkflowRun),
    ] {
        let case = case(&mut cases, name);
        let provider = provider(case.settings);
        let principal = provider.setup.verify(&provider.token(case.token)).await.unwrap();
        assert!(principal.permissions.contains(&permission), "{name}");
    }
    // A scope is what a user allows a client, and no permission of the user.
    let case = case(&mut cases, "entra");
    let provider = provider(case.settings);
    let mut token = case.token;
    token["scp"] = json!("workflow:admin content:delete");
    let principal = provider.setup.verify(&provider.token(token)).await.unwrap();
    assert!(!principal.permissions.contains(&Permission::WorkflowAdmin));
}

#[tokio::test]
async fn users_of_several_providers_stay_apart() {
    let folder = tempfile::tempdir().unwrap();
    let (people, ci) = (
        Issuer::new(Algorithm::ES256, "k1"),
        Issuer::new(Algorithm::ES256, "k1"),
    );
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    write_keys(path("people").as_ref(), &[&people]);
    write_keys(path("ci").as_ref(), &[&ci]);
    let settings = json!([
        { "issuer": "https://people.example", "jwks": path("people"), "audience": "m", "account": { "value": "a" } },
        { "issuer": "https://ci.example", "jwks": path("ci"), "audience": "m", "account": { "value": "a" }, "user_prefix": "ci:" },
    ]);
    let setup = Setup::new(
        &[(variables::IDENTITY, &settings.to_string())],
        Arc::new(NoServiceKey),
    );
    let claims = |issuer: &str, user: &str| fresh(json!({ "iss": issuer, "sub": user, "aud": "m" }));
    let reference = |token: String| {
        let setup = &setup;
        async move { setup.verify(&token).await.map(|principal| principal.reference()) }
    };
    assert_eq!(
        reference(people.token(&claims("https://people.example", "ada")))
            .await
            .unwrap(),
        "user:ada"
    );
    assert_eq!(
        reference(ci.token(&claims("https://ci.example", "ada")))
            .await
            .unwrap(),
        "user:ci:ada"
    );
    // A key of one provider signs nothing of the other.
    for forged in [
        ci.token(&claims("https://people.example", "ada")),
        people.token(&claims("https://ci.example", "ada")),
        people.token(&claims("https://people.example", "ci:ada")),
        people.token(&claims("https://other.example", "ada")),
    ] {
        setup.refusal(&forged, None, 401).await;
    }
}

#[tokio::test]
async fn user_id_is_any_printable_text_of_255_characters() {
    let provider = provider(json!({
        "issuer": "https://id.example", "audience": "m", "account": { "value": "a" }, "project": { "value": "p" },
    }));
    let token = |user: &str| provider.token(json!({ "iss": "https://id.example", "sub": user, "aud": "m" }));
    for user in [
        "auth0|1",
        "a b#c/d",
        "ä名😀",
        &"x".repeat(255),
        "..",
        "'; DROP TABLE users",
    ] {
        let principal = provider.setup.verify(&token(user)).await.unwrap();
        assert_eq!(principal.reference(), format!("user:{user}"));
    }
    for user in ["", "a\nb", "a\u{0}", &"x".repeat(256)] {
        provider.setup.refusal(&token(user), None, 401).await;
    }
}

#[tokio::test]
async fn refusal_says_what_an_opaque_token_needs() {
    let provider =
        provider(json!({ "issuer": "https://id.example", "audience": "m", "account": { "value": "a" } }));
    for (token, reason) in [
        ("8xLOxBtZp8", "may be meant for the provider alone"),
        ("eyJhbGciOiJkaXIifQ..a.b.c", "it is encrypted"),
        ("a.b.c", "its header is malformed"),
    ] {
        let refusal = provider.setup.refusal(token, None, 401).await;
        assert!(refusal.contains(reason), "{refusal}");
        assert!(refusal.contains("Ask the identity provider for a token with this service's audience"));
    }
}

/// Settings in the documentation are complete but for the ids that stand for the reader's own.
#[test]
fn settings_of_the_documentation_are_valid() {
    let text = std::fs::read_to_string("../../docs/identity.md").unwrap();
    let text = text.replace('\n', " ");
    let mut presets = Vec::new();
    for (begin, _) in text
        .match_indices("{\"preset\"")
        .chain(text.match_indices("{   \"preset\""))
    {
        let mut values = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Value>();
        let settings = values
            .next()
            .unwrap()
            .unwrap_or_else(|error| panic!("{error}: {}", &text[begin..begin + 80]));
        presets.push(settings["preset"].as_str().unwrap().to_owned());
        let settings = [(variables::IDENTITY, settings.to_string())];
        let environment = Environment::from_variables([]).unwrap().with(settings);
        identity::providers(&environment).unwrap();
    }
    presets.sort_unstable();
    let expected = [
        "auth0",
        "cognito",
        "entra",
        "github_actions",
        "google",
        "keycloak",
        "okta",
    ];
    assert_eq!(presets, expected);
}
