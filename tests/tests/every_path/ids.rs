//! Tests ids in paths: any opaque text of up to 200 characters gets a proper answer.

use serde_json::json;
use tests::samples::prompt;
use tests::{Persona, Service};

#[tokio::test]
async fn an_id_has_at_most_200_characters() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    for (id, status) in [
        ("x".repeat(200), 404),
        ("x".repeat(201), 400),
        ("x".repeat(5_000), 400),
        ("%C3%A9".repeat(200), 404),
        ("%C3%A9".repeat(201), 400),
    ] {
        let path = format!("/prompts/{id}");
        for request in [
            service.get(&token, &path),
            service.get(&token, &format!("{path}/versions")),
            service.put(&token, &path, &json!({})),
            service.delete(&token, &path),
            service.post(&token, &format!("{path}/fork"), &json!({})),
        ] {
            let answer = request.await.expect_status(status);
            answer.check_error();
        }
    }
}

#[tokio::test]
async fn no_id_is_too_odd_for_an_answer() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    let id = service.post(&token, "/prompts", &prompt("One")).await.id();
    let with_hash = format!("{id}%23version%2300000001");
    for odd in [
        "%23",
        "%00",
        "%2F",
        "a%2Fb",
        "%2e%2e%2f%2e%2e",
        "%5C",
        "%0A",
        "%0d%0aset-cookie:x",
        "%FF",
        "%C3",
        "%ED%A0%80",
        "%F0%9F%98%80",
        "%25",
        "%25%30%30",
        "%22",
        "%27%20or%201=1",
        "%7B%7D",
        "*",
        "+",
        ":",
        ";",
        "@",
        "~",
        "-",
        "_",
        "null",
        "undefined",
        "facets",
        "version%2300000001",
        &with_hash,
    ] {
        let path = format!("/prompts/{odd}");
        for request in [
            service.get(&token, &path),
            service.get(&token, &format!("{path}/versions")),
            service.get(&token, &format!("{path}/forks")),
            service.get(&token, &format!("{path}/interactions")),
            service.put(&token, &path, &json!({})),
            service.delete(&token, &path),
            service.post(&token, &format!("{path}/fork"), &json!({})),
            service.get(
                &token,
                &format!("/audit-trail?resourceId={odd}&projectId={odd}&principalId={odd}"),
            ),
            service.get(&token, &format!("/prompts?name={odd}&role={odd}&tags={odd}")),
        ] {
            let answer = request.await;
            match answer.status {
                200 => assert!(
                    answer.request.contains('?'),
                    "{}: {}",
                    answer.request,
                    answer.text()
                ),
                400 | 404 | 405 => answer.check_error(),
                status => panic!("{}: {status} {}", answer.request, answer.text()),
            }
        }
    }
    assert_eq!(
        service.get(&token, &format!("/prompts/{id}")).await.body["version"],
        1
    );
}
