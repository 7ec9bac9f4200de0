//! Tests which credentials are accepted, which are refused, and what unauthenticated callers can learn.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tests::samples::prompt;
use tests::{Method, Operator, Persona, Request, Service, redacted};

/// Returns a request of every kind, each with the header.
fn calls(service: &Service, name: &str, value: &str) -> Vec<Request> {
    let id = "/prompts/01900000-0000-7000-8000-000000000000";
    let facets = json!({ "facets": [] });
    [
        service.request(Method::GET, "/prompts"),
        service.request(Method::GET, id),
        service.request(Method::POST, "/prompts").json(&prompt("Mine")),
        service.request(Method::POST, "/prompts/facets").json(&facets),
        service.request(Method::PUT, id).json(&json!({})),
        service.request(Method::DELETE, id),
        service.request(Method::GET, "/audit-trail"),
    ]
    .map(|request| request.header(name, value))
    .into()
}

async fn refused_everywhere(service: &Service, token: &str) {
    for call in calls(service, "authorization", &format!("Bearer {token}")) {
        call.await.expect_error(401, "unauthenticated");
    }
}

/// Splits a token: header and claims as JSON, and the signature.
fn parts(token: &str) -> (Value, Value, String) {
    let mut parts = token.split('.');
    let mut json = || {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(parts.next().unwrap()).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    let (header, claims) = (json(), json());
    (header, claims, parts.next().unwrap().to_owned())
}

fn joined(header: &Value, claims: &Value, signature: &str) -> String {
    let text = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{signature}", text(header), text(claims))
}

#[tokio::test]
async fn no_credentials_or_malformed_ones_are_401() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    for call in calls(&service, "x-nothing", "") {
        call.await.expect_error(401, "unauthenticated");
    }
    for value in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer nonsense",
        "Bearer a.b.c",
        "Bearer ...",
        "Bearer null",
        "Bearer sk-nonsense",
        &format!("Bearer{token}"),
        &format!("Bearer {token} {token}"),
        &format!("Basic {token}"),
        &format!("Token {token}"),
        &format!("JWT {token}"),
        &token,
        &format!("Bearer \"{token}\""),
        &format!("Bearer {}", "x".repeat(5_000)),
    ] {
        for call in calls(&service, "authorization", value) {
            call.await.expect_error(401, "unauthenticated");
        }
    }
    for query in ["access_token", "token"] {
        let path = format!("/prompts?{query}={token}");
        let answer = service.request(Method::GET, &path).await;
        answer.expect_error(401, "unauthenticated");
    }
    // The scheme is case-insensitive.
    let lower = service
        .request(Method::GET, "/prompts")
        .header("authorization", &format!("bearer {token}"));
    lower.await.expect_status(200);
}

#[tokio::test]
async fn an_expired_token_is_401() {
    let service = Service::start().await;
    let scope = service.scope();
    let fresh = scope.token_with(&["--lifetime", "600"]);
    service.get(&fresh, "/prompts").await.expect_status(200);
    let expired = scope.token_with(&["--lifetime=-600"]);
    refused_everywhere(&service, &expired).await;
    let message = service.get(&expired, "/prompts").await.message().to_owned();
    assert!(message.contains("expired"), "{message}");
}

#[tokio::test]
async fn an_unsigned_token_is_401() {
    let service = Service::start().await;
    let (header, claims, signature) = parts(&service.scope().token(Persona::Developer));
    for algorithm in ["none", "None", "NONE", "", "HS256", "RS256"] {
        let mut header = header.clone();
        header["alg"] = algorithm.into();
        for signature in ["", signature.as_str(), "AAAA"] {
            refused_everywhere(&service, &joined(&header, &claims, signature)).await;
        }
    }
    let mut bare = header;
    bare.as_object_mut().unwrap().remove("alg");
    refused_everywhere(&service, &joined(&bare, &claims, "")).await;
}

#[tokio::test]
async fn a_token_signed_with_a_shared_secret_is_401() {
    let service = Service::start().await;
    let (header, claims, _) = parts(&service.scope().token(Persona::Developer));
    let jwks = std::fs::read(service.keys().join("jwks.json")).unwrap();
    let set: Value = serde_json::from_slice(&jwks).unwrap();
    let key = &set["keys"][0];
    let coordinate = |name: &str| {
        BASE64_URL_SAFE_NO_PAD
            .decode(key[name].as_str().unwrap())
            .unwrap()
    };
    let mut point = vec![4];
    point.extend(coordinate("x"));
    point.extend(coordinate("y"));
    let secrets = [
        b"".to_vec(),
        b"secret".to_vec(),
        jwks.clone(),
        jwks.trim_ascii().to_vec(),
        key.to_string().into_bytes(),
        key["x"].as_str().unwrap().as_bytes().to_vec(),
        point,
    ];
    for secret in secrets {
        for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            for key_id in [header["kid"].as_str(), None] {
                let mut forged = Header::new(algorithm);
                forged.kid = key_id.map(str::to_owned);
                let token =
                    jsonwebtoken::encode(&forged, &claims, &EncodingKey::from_secret(&secret)).unwrap();
                let answer = service.get(&token, "/prompts").await;
                answer.expect_error(401, "unauthenticated");
            }
        }
    }
}

#[tokio::test]
async fn a_token_of_another_issuer_is_401() {
    let service = Service::start().await;
    let scope = service.scope();
    let folder = service.folder().join("elsewhere");
    let arguments = [
        "--make-keys",
        "--account",
        &scope.account,
        "--project",
        &scope.project,
    ];
    let stranger = Operator::new(&folder).token(&arguments);
    refused_everywhere(&service, &stranger).await;
}

#[tokio::test]
async fn a_changed_token_is_401() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Reader);
    let (header, claims, signature) = parts(&token);
    for (claim, value) in [
        ("project_id", json!("other")),
        ("account_id", json!("other")),
        ("roles", json!(["account_admin"])),
        ("permissions", json!(["interaction:write"])),
        ("sub", json!("root")),
        ("exp", json!(99_999_999_999_u64)),
    ] {
        let mut claims = claims.clone();
        claims[claim] = value;
        refused_everywhere(&service, &joined(&header, &claims, &signature)).await;
    }
    let last = token.rfind('.').unwrap();
    let first_of_signature = &token[last + 1..last + 2];
    let other = if first_of_signature == "A" { "B" } else { "A" };
    let flipped = format!("{}.{other}{}", &token[..last], &token[last + 2..]);
    for changed in [
        &token[..last],
        &token[..=last],
        &token[..token.len() - 1],
        &flipped,
    ] {
        refused_everywhere(&service, changed).await;
    }
    service.get(&token, "/prompts").await.expect_status(200);
}

#[tokio::test]
async fn an_api_key_opens_what_its_roles_permit() {
    let service = Service::start().await;
    let scope = service.scope();
    let created = scope
        .ops(&["--json", "key", "create", "ci", "--roles", "account_admin"])
        .expect_success();
    let created: Value = serde_json::from_str(&created.stdout).unwrap();
    let key = created["key"].as_str().unwrap();
    for (path, status) in [
        ("/prompts", 200),
        ("/audit-trail", 200),
        ("/workflows/types", 200),
    ] {
        service.get(key, path).await.expect_status(status);
        let by_header = service.request(Method::GET, path).header("x-api-key", key);
        by_header.await.expect_status(status);
    }
    let wrong = &key[..key.len() - 1];
    refused_everywhere(&service, wrong).await;
    for call in calls(&service, "x-api-key", wrong) {
        call.await.expect_error(401, "unauthenticated");
    }
}

#[tokio::test]
async fn a_good_request_id_is_echoed_and_a_bad_one_replaced() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let longest = "x".repeat(128);
    for id in ["1", "abc", "A-Z.a_z-0.9", "....", &longest] {
        for (path, status) in [
            ("/prompts", 200),
            ("/prompts/nonsense", 404),
            ("/nothing", 404),
            ("/audit-trail?limit=0", 400),
        ] {
            let answer = service.get(&token, path).header("x-request-id", id).await;
            let answer = answer.expect_status(status);
            // API Gateway answers where there is no function, with ids of its own.
            let is_gateway = service.is_shared() && path == "/nothing";
            assert!(is_gateway || answer.header("x-request-id") == id, "{path}: {id}");
        }
        let answer = service
            .request(Method::GET, "/prompts")
            .header("x-request-id", id)
            .await;
        assert_eq!(answer.expect_status(401).header("x-request-id"), id);
    }
    let too_long = "x".repeat(129);
    for id in [
        "", " ", "a b", "a/b", "a;b", "a\tb", "{}", "a,b", "a:b", "a+b", "%0a", &too_long,
    ] {
        let answer = service
            .get(&token, "/prompts")
            .header("x-request-id", id)
            .await
            .expect_status(200);
        let new_id = answer.header("x-request-id");
        assert_ne!(new_id, id);
        assert_eq!(
            redacted(&json!(new_id)),
            json!("<id>"),
            "{id:?} became {new_id:?}"
        );
    }
    let first = service.get(&token, "/prompts").await;
    let second = service.get(&token, "/prompts").await;
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
}

/// Returns the requests about one template, each with the status for its owner.
fn of_template(service: &Service, token: &str, id: &str) -> Vec<Request> {
    let path = format!("/prompts/{id}");
    vec![
        service.get(token, &path),
        service.get(token, &format!("{path}/versions")),
        service.get(token, &format!("{path}/forks")),
        service.get(token, &format!("{path}/interactions")),
        service.put(token, &path, &json!({ "name": "Taken" })),
        service.put(token, &path, &json!({})).header("if-match", "\"1\""),
        service.post(token, &format!("{path}/fork"), &json!({ "keepTags": true })),
        service.delete(token, &path).header("if-match", "\"1\""),
        service.delete(token, &path),
    ]
}

#[tokio::test]
async fn resource_of_another_project_answers_as_a_missing_one() {
    let service = Service::start().await;
    let scope = service.scope();
    let developer = scope.token(Persona::Developer);
    let id = service.post(&developer, "/prompts", &prompt("Ours")).await.id();
    let never = "01900000-0000-7000-8000-000000000000";

    for persona in [Persona::OtherProject, Persona::OtherAccount] {
        let stranger = scope.token(persona);
        let theirs = of_template(&service, &stranger, &id).into_iter();
        for (foreign, unknown) in theirs.zip(of_template(&service, &stranger, never)) {
            let foreign = foreign.await.expect_error(404, "not_found");
            let unknown = unknown.await.expect_error(404, "not_found");
            assert_eq!(
                redacted(&foreign.body),
                redacted(&unknown.body),
                "{persona:?} {}",
                foreign.request
            );
            assert!(foreign.text().contains(&id), "it names the id that was asked for");
            let names = |answer: &tests::Answer| -> Vec<String> {
                let mut names: Vec<_> = answer.headers.keys().map(ToString::to_string).collect();
                names.sort_unstable();
                names
            };
            assert_eq!(
                names(&foreign),
                names(&unknown),
                "{persona:?} {}",
                foreign.request
            );
        }
        let listed = service.get(&stranger, "/prompts").await.expect_status(200);
        assert!(!listed.text().contains(&id), "{persona:?}");
        let facets =
            json!({ "facets": [{ "name": "names", "field": "project" }], "query": { "name": "Ours" } });
        let answer = service
            .post(&stranger, "/prompts/facets", &facets)
            .await
            .expect_status(200);
        assert_eq!(answer.body["total"], 0, "{persona:?}");
    }
    let unchanged = service
        .get(&developer, &format!("/prompts/{id}"))
        .await
        .expect_status(200);
    assert_eq!(unchanged.body["version"], 1);
    assert_eq!(unchanged.body["name"], "Ours");
}

#[tokio::test]
async fn a_token_without_a_project_is_403_on_what_belongs_to_one() {
    let service = Service::start().await;
    let scope = service.scope();
    let developer = scope.token(Persona::Developer);
    let admin = scope.token(Persona::WholeAccount);
    let id = service.post(&developer, "/prompts", &prompt("Ours")).await.id();
    let mut requests = of_template(&service, &admin, &id);
    requests.push(service.get(&admin, "/prompts"));
    requests.push(service.post(&admin, "/prompts", &prompt("Mine")));
    requests.push(service.post(&admin, "/prompts/facets", &json!({ "facets": [] })));
    for request in requests {
        let refused = request.await.expect_error(403, "forbidden");
        assert!(refused.message().contains("project"), "{}", refused.message());
    }
    service.get(&admin, "/audit-trail").await.expect_status(200);
    service
        .get(&developer, &format!("/prompts/{id}"))
        .await
        .expect_status(200);
}
