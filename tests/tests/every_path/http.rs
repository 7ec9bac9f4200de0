//! Tests HTTP itself: paths, methods, slashes, CORS, odd ids, the pages beside the API.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::samples::prompt;
use tests::{Method, Persona, Service};

async fn started() -> (Service, String) {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    (service, token)
}

/// Returns every path of the API with its methods; its parameters have placeholder values.
async fn paths(service: &Service) -> Vec<(String, BTreeSet<String>)> {
    let document = service.openapi().await;
    let filled = |template: &str| -> String {
        let part = |part: &str| {
            if part.starts_with('{') {
                "x".to_owned()
            } else {
                part.to_owned()
            }
        };
        template.split('/').map(part).collect::<Vec<_>>().join("/")
    };
    let methods = |item: &Value| -> BTreeSet<String> {
        let keys = item.as_object().unwrap().keys().map(|key| key.to_uppercase());
        keys.filter(|key| ["GET", "POST", "PUT", "DELETE", "PATCH"].contains(&key.as_str()))
            .collect()
    };
    let paths = document["paths"].as_object().unwrap();
    let paths: Vec<_> = paths
        .iter()
        .filter(|(template, _)| service.has(template))
        .map(|(template, item)| {
            let server = item["servers"][0]["url"].as_str().unwrap_or_default();
            let url = match server {
                "" => format!("{}{}", service.origin(), filled(template)),
                _ => format!("{}{}", service.ingest_url(), filled(template)),
            };
            (url, methods(item))
        })
        .collect();
    assert!(paths.len() >= 7, "{paths:?}");
    paths
}

#[tokio::test]
async fn a_trailing_slash_changes_nothing_on_any_route() {
    let (service, _) = started().await;
    for (url, methods) in paths(&service).await {
        for method in methods {
            let method: Method = method.parse().unwrap();
            let plain = service.request(method.clone(), &url).await;
            for slashed in [format!("{url}/"), format!("{url}/?limit=2")] {
                let answer = service.request(method.clone(), &slashed).await;
                assert_eq!(answer.status, plain.status, "{}", answer.request);
                assert_eq!(
                    answer.body["message"], plain.body["message"],
                    "{}",
                    answer.request
                );
            }
        }
    }
}

#[tokio::test]
async fn a_trailing_slash_with_a_query_answers_the_same() {
    let (service, token) = started().await;
    let id = service
        .post(&token, "/prompts/", &prompt("One"))
        .await
        .expect_status(201)
        .id();
    service
        .post(&token, "/prompts/", &prompt("Two"))
        .await
        .expect_status(201);
    for (plain, slashed) in [
        ("/prompts?limit=1".to_owned(), "/prompts/?limit=1".to_owned()),
        (
            format!("/audit-trail?limit=1&resourceId={id}"),
            format!("/audit-trail/?limit=1&resourceId={id}"),
        ),
        (format!("/prompts/{id}"), format!("/prompts/{id}/")),
        (
            format!("/prompts/{id}/versions"),
            format!("/prompts/{id}/versions/?x=1"),
        ),
    ] {
        let plain = service.get(&token, &plain).await.expect_status(200);
        let slashed = service.get(&token, &slashed).await.expect_status(200);
        assert_eq!(plain.body, slashed.body, "{}", slashed.request);
    }
    service
        .put(&token, &format!("/prompts/{id}/"), &json!({}))
        .await
        .expect_status(200);
    service
        .post(&token, &format!("/prompts/{id}/fork/"), &json!({}))
        .await
        .expect_status(201);
    service
        .delete(&token, &format!("/prompts/{id}/"))
        .await
        .expect_status(200);
}

#[tokio::test]
async fn an_unknown_path_is_404() {
    let (service, token) = started().await;
    let origin = service.origin();
    for path in [
        "/nothing".to_owned(),
        "/Prompts".to_owned(),
        "/prompts/x/nothing".to_owned(),
        "/prompts/x/versions/1/x".to_owned(),
        "/audit-trail/x".to_owned(),
        "/..%2Fprompts".to_owned(),
        format!("{origin}/api"),
        format!("{origin}/api/v1"),
        format!("{origin}/api/v2/prompts"),
        format!("{origin}/prompts"),
        format!("{origin}/.env"),
    ] {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let answer = service.request(method.clone(), &path).token(&token).await;
            answer.expect_error(404, "not_found");
            let unknown = service.request(method, &path).await;
            unknown.expect_error(404, "not_found");
        }
    }
}

#[tokio::test]
async fn a_wrong_method_is_405_with_allow() {
    let (service, token) = started().await;
    for (url, methods) in paths(&service).await {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
            if methods.contains(method) {
                continue;
            }
            let request = service.request(method.parse().unwrap(), &url).token(&token);
            let answer = request.await.expect_status(405);
            answer.check_error();
            let mut allowed: BTreeSet<_> = answer
                .header("allow")
                .split(',')
                .map(|name| name.trim().to_owned())
                .collect();
            allowed.remove("HEAD");
            assert_eq!(allowed, methods, "{}", answer.request);
        }
    }
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let (service, token) = started().await;
    let id = service.post(&token, "/prompts", &prompt("One")).await.id();
    for (path, status) in [
        ("/prompts".to_owned(), 200),
        (format!("/prompts/{id}"), 200),
        ("/prompts/x".to_owned(), 404),
    ] {
        let get = service.get(&token, &path).await.expect_status(status);
        let head = service
            .request(Method::HEAD, &path)
            .token(&token)
            .await
            .expect_status(status);
        assert!(head.bytes.is_empty(), "{}", head.text());
        for name in ["content-type", "etag"] {
            assert_eq!(head.header(name), get.header(name), "{path} {name}");
        }
    }
    let stranger = service.request(Method::HEAD, "/prompts").await;
    assert_eq!(stranger.expect_status(401).header("www-authenticate"), "Bearer");
}

#[tokio::test]
async fn a_browser_may_call_the_local_runner_locally() {
    let service = Service::start_local().await;
    let token = service.scope().token(Persona::Developer);
    let id = service.post(&token, "/prompts", &prompt("One")).await.id();
    let origin = "https://app.example.com";
    let list =
        |text: &str| -> Vec<String> { text.split(',').map(|part| part.trim().to_lowercase()).collect() };
    for (path, method) in [
        ("/prompts".to_owned(), "POST"),
        (format!("/prompts/{id}"), "PUT"),
        (format!("/prompts/{id}"), "DELETE"),
        ("/audit-trail".to_owned(), "GET"),
    ] {
        let preflight = service
            .request(Method::OPTIONS, &path)
            .header("origin", origin)
            .header("access-control-request-method", method)
            .header(
                "access-control-request-headers",
                "authorization,content-type,if-match,x-request-id",
            )
            .await;
        assert!(
            matches!(preflight.status, 200 | 204),
            "{path}: {}",
            preflight.status
        );
        assert!(
            ["*", origin].contains(&preflight.header("access-control-allow-origin")),
            "{path}"
        );
        assert_eq!(preflight.header("x-content-type-options"), "nosniff", "{path}");
        assert!(!preflight.header("x-request-id").is_empty(), "{path}");
        let methods = list(preflight.header("access-control-allow-methods"));
        assert!(methods.contains(&method.to_lowercase()), "{path}: {methods:?}");
        // In the Fetch standard, the wildcard does not cover `authorization`.
        let headers = list(preflight.header("access-control-allow-headers"));
        assert!(
            headers.contains(&"authorization".to_owned()),
            "{path}: {headers:?}"
        );
        for name in ["content-type", "if-match", "x-request-id"] {
            assert!(
                headers.iter().any(|header| header == "*" || header == name),
                "{path}: {headers:?}"
            );
        }
    }
    for (request, status) in [
        (service.get(&token, "/prompts"), 200),
        (service.get(&token, "/prompts/x"), 404),
        (service.request(Method::GET, "/prompts"), 401),
        (service.get(&token, "/nothing"), 404),
    ] {
        let answer = request.header("origin", origin).await.expect_status(status);
        assert!(
            ["*", origin].contains(&answer.header("access-control-allow-origin")),
            "{}",
            answer.request
        );
        let exposed = list(answer.header("access-control-expose-headers"));
        for name in ["etag", "location", "x-request-id"] {
            assert!(
                exposed.contains(&name.to_owned()),
                "{}: {exposed:?}",
                answer.request
            );
        }
    }
}

#[tokio::test]
async fn answers_say_that_they_are_json() {
    let (service, token) = started().await;
    let created = service.post(&token, "/prompts", &prompt("One")).await;
    assert_eq!(created.header("content-type"), "application/json");
    for path in ["/prompts", "/audit-trail"] {
        assert_eq!(
            service.get(&token, path).await.header("content-type"),
            "application/json"
        );
    }
}

#[tokio::test]
async fn the_openapi_document_and_its_page_need_nothing_from_outside_locally() {
    let service = Service::start_local().await;
    let document = service
        .request(Method::GET, &format!("{}/openapi.json", service.origin()))
        .await;
    let document = document.expect_status(200);
    assert_eq!(document.header("content-type"), "application/json");
    assert!(document.body["openapi"].as_str().unwrap().starts_with("3."));

    let origin = service
        .request(Method::GET, &format!("{}/", service.origin()))
        .await;
    assert_eq!(origin.expect_status(307).header("location"), "/docs");

    let page = service
        .request(Method::GET, &format!("{}/docs", service.origin()))
        .await
        .expect_status(200);
    assert!(
        page.header("content-type").starts_with("text/html"),
        "{}",
        page.header("content-type")
    );
    let text = page.text();
    assert!(text.contains("/openapi.json"));
    for tag in ["<script", "<link", "<img", "<iframe"] {
        for (start, _) in text.match_indices(tag) {
            let element: String = text[start..]
                .chars()
                .take_while(|letter| *letter != '>')
                .take(300)
                .collect();
            for outside in [
                "src=\"http",
                "src='http",
                "src=\"//",
                "src='//",
                "href=\"http",
                "href='http",
                "href=\"//",
            ] {
                assert!(!element.contains(outside), "the page fetches {element}");
            }
        }
    }
    for outside in [
        "cdn.jsdelivr",
        "unpkg.com",
        "cdnjs.",
        "fonts.googleapis",
        "@import url(\"http",
        "@import url(http",
    ] {
        assert!(!text.contains(outside), "the page names {outside}");
    }
}
