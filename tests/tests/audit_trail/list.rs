//! Tests the list of the audit trail: filters, pages, and which callers see what.

use serde_json::{Value, json};
use tests::samples::prompt;
use tests::{Persona, Service, Trail};

const MISSING: &str = "/prompts/01900000-0000-7000-8000-000000000000";

#[tokio::test]
async fn list_has_only_records_that_the_filters_select() {
    let trail = Trail::start().await;
    let (service, token) = (&trail.service, &trail.developer);
    let first = trail.create("First").await.id();
    let second = trail.create("Second").await.id();
    service
        .put(token, &format!("/prompts/{first}"), &json!({}))
        .await
        .expect_status(200);
    service
        .delete(token, &format!("/prompts/{second}"))
        .await
        .expect_status(200);
    let grace = trail.scope.token_with(&["--user-id", "grace"]);
    service
        .put(&grace, &format!("/prompts/{first}"), &json!({}))
        .await
        .expect_status(200);
    trail.scope.ops(&["prompt", "publish", &first]).expect_success();
    trail.scope.ops(&["key", "create", "ci"]).expect_success();

    let actions = async |query: &str| -> Vec<String> {
        let action = |event: &Value| event["action"].as_str().unwrap().to_owned();
        trail.events(query).await.iter().map(action).collect()
    };
    let all = [
        "create", "publish", "update", "delete", "update", "create", "create",
    ];
    for (query, expected) in [
        (String::new(), &all[..]),
        ("unknown=1".to_owned(), &all[..]),
        ("actions=delete".to_owned(), &["delete"]),
        (
            "actions=update,delete".to_owned(),
            &["update", "delete", "update"],
        ),
        (
            "actions=update&actions=delete".to_owned(),
            &["update", "delete", "update"],
        ),
        (
            "actions=update,%20delete&actions=publish".to_owned(),
            &["publish", "update", "delete", "update"],
        ),
        (
            "actions=attach,detach,bulk_update,bulk_delete,unpublish".to_owned(),
            &[],
        ),
        ("resourceTypes=api_key".to_owned(), &["create"]),
        ("resourceTypes=api_key,prompt".to_owned(), &all[..]),
        ("resourceTypes=api_key&resourceTypes=prompt".to_owned(), &all[..]),
        ("resourceTypes=prompts".to_owned(), &[]),
        (format!("resourceId={second}"), &["delete", "create"]),
        (
            format!("resourceId={first}&actions=update"),
            &["update", "update"],
        ),
        ("resourceId=nonsense".to_owned(), &[]),
        ("resourceId=&principalId=&from=&limit=".to_owned(), &all[..]),
        ("principalUserId=grace".to_owned(), &["update"]),
        (
            "principalUserId=developer".to_owned(),
            &["delete", "update", "create", "create"],
        ),
        ("principalUserId=Grace".to_owned(), &[]),
        ("principalId=grace".to_owned(), &[]),
        ("limit=2&offset=3".to_owned(), &["delete", "update"]),
        ("actions=update&limit=1&offset=1".to_owned(), &["update"]),
    ] {
        assert_eq!(actions(&query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn from_and_to_include_their_ends() {
    let trail = Trail::start().await;
    for index in 0..4 {
        trail.create(&format!("Template {index}")).await;
    }
    let all = trail.events("").await;
    let time = |event: &Value| event["timestamp"].as_str().unwrap().to_owned();
    for chosen in all.iter().map(time) {
        let expect = async |query: String, takes: &dyn Fn(&str) -> bool| {
            let expected: Vec<_> = all.iter().filter(|event| takes(&time(event))).cloned().collect();
            assert_eq!(trail.events(&query).await, expected, "{query}");
        };
        expect(format!("from={chosen}"), &|at| at >= chosen.as_str()).await;
        expect(format!("to={chosen}"), &|at| at <= chosen.as_str()).await;
        expect(format!("from={chosen}&to={chosen}"), &|at| at == chosen).await;
        // The same time, written with a zero offset.
        let offset = chosen.replace('Z', "%2B00:00");
        expect(format!("from={offset}&to={offset}"), &|at| at == chosen).await;
    }
    for (query, expected) in [
        ("from=2000-01-01T00:00:00Z", 4),
        ("from=2000-01-01", 4),
        ("to=2000-01-01T00:00:00Z", 0),
        ("from=2999-01-01T00:00:00Z", 0),
        ("from=2999-01-01T00:00:00Z&to=2000-01-01T00:00:00Z", 0),
        ("from=2000-01-01T00:00:00%2B02:00&to=2999-01-01T00:00:00-02:00", 4),
    ] {
        assert_eq!(trail.events(query).await.len(), expected, "{query}");
    }
}

#[tokio::test]
async fn pages_are_exact_at_their_ends() {
    let trail = Trail::start().await;
    for index in 0..7 {
        trail.create(&format!("Template {index}")).await;
    }
    let all = trail.events("limit=200").await;
    assert_eq!(all.len(), 7);
    let newest_first = |pair: &[Value]| pair[0]["timestamp"].as_str() >= pair[1]["timestamp"].as_str();
    assert!(all.windows(2).all(newest_first), "{all:?}");

    for (limit, offset, has_next) in [
        (1, 0, true),
        (6, 0, true),
        (7, 0, false),
        (8, 0, false),
        (200, 0, false),
        (3, 3, true),
        (3, 4, false),
        (1, 6, false),
        (1, 7, false),
        (5, 100, false),
        (5, 10_001, false),
        (200, 9_007_199_254_740_991, false),
    ] {
        let page = trail.page(&format!("limit={limit}&offset={offset}")).await;
        let end = all.len().min(offset + limit);
        let expected = json!({
            "events": all[offset.min(end)..end],
            "hasNext": has_next,
            "limit": limit,
            "offset": offset
        });
        assert_eq!(page, expected);
    }
    // Read as a client does: continue while `hasNext` is true.
    let mut events_read = Vec::new();
    loop {
        let page = trail
            .page(&format!("actions=create&limit=3&offset={}", events_read.len()))
            .await;
        events_read.extend(page["events"].as_array().unwrap().clone());
        if page["hasNext"] == false {
            break;
        }
        assert!(events_read.len() < 7, "hasNext never ends");
    }
    assert_eq!(events_read, all);
    let defaults = trail.page("").await;
    assert_eq!((&defaults["limit"], &defaults["offset"]), (&json!(50), &json!(0)));
}

#[tokio::test]
async fn the_default_page_has_50_and_the_largest_200() {
    let trail = Trail::start().await;
    for _ in 0..201 {
        trail
            .service
            .delete(&trail.developer, MISSING)
            .await
            .expect_status(404);
    }
    for (query, count, has_next) in [
        ("", 50, true),
        ("limit=200", 200, true),
        ("limit=200&offset=1", 200, false),
    ] {
        let page = trail.page(query).await;
        assert_eq!(page["events"].as_array().unwrap().len(), count, "{query}");
        assert_eq!(page["hasNext"], has_next, "{query}");
    }
}

#[tokio::test]
async fn bad_queries_are_refused_by_name() {
    let service = Service::start().await;
    let token = service.scope().token(Persona::Developer);
    for (query, part) in [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=-1", "limit"),
        ("limit=many", "limit"),
        ("limit=1.5", "limit"),
        ("offset=-1", "offset"),
        ("offset=x", "offset"),
        ("offset=9007199254740992", "offset"),
        ("offset=18446744073709551615", "offset"),
        ("offset=99999999999999999999", "offset"),
        ("from=yesterday", "from"),
        ("from=2026-13-01T00:00:00Z", "from"),
        ("from=1700000000", "from"),
        ("to=2026-02-30T00:00:00Z", "to"),
        ("actions=explode", "actions"),
        ("actions=create,explode", "actions"),
        ("actions=Create", "actions"),
        ("from=2026-01-01T00:00:00Europe", "from"),
    ] {
        let refused = service.get(&token, &format!("/audit-trail?{query}")).await;
        let refused = refused.expect_error(400, "invalid_request");
        assert!(refused.message().contains(part), "{query}: {}", refused.message());
    }
}

#[tokio::test]
async fn list_has_only_records_that_the_caller_may_see() {
    let trail = Trail::start().await;
    let (service, scope) = (&trail.service, &trail.scope);
    let (neighbour, stranger) = (
        scope.token(Persona::OtherProject),
        scope.token(Persona::OtherAccount),
    );
    trail.create("Ours").await;
    for token in [&neighbour, &stranger] {
        service
            .post(token, "/prompts", &prompt("Theirs"))
            .await
            .expect_status(201);
    }
    let (ours, theirs) = (scope.project.clone(), scope.other_project());
    let projects = async |token: &str, query: String| -> Vec<Value> {
        let page = service
            .get(token, &format!("/audit-trail?{query}"))
            .await
            .expect_status(200);
        let events = page.body["events"].as_array().unwrap().clone();
        assert!(
            events.iter().all(|event| event["account_id"] == scope.account),
            "{events:?}"
        );
        events.iter().map(|event| event["project_id"].clone()).collect()
    };
    // A project admin sees its own project, whatever it requests.
    for query in [
        String::new(),
        format!("projectId={theirs}"),
        format!("projectId={ours}"),
        "projectId=%23".to_owned(),
    ] {
        assert_eq!(projects(&trail.developer, query).await, [json!(ours)]);
    }
    assert_eq!(
        projects(&neighbour, format!("projectId={ours}")).await,
        [json!(theirs)]
    );
    // An account admin sees the account, or the project that it names.
    for admin in [
        scope.token(Persona::AccountAdmin),
        scope.token(Persona::WholeAccount),
    ] {
        assert_eq!(
            projects(&admin, String::new()).await,
            [json!(theirs), json!(ours)]
        );
        assert_eq!(
            projects(&admin, format!("projectId={theirs}")).await,
            [json!(theirs)]
        );
        assert_eq!(
            projects(&admin, "projectId=nowhere".to_owned()).await,
            [json!(null); 0]
        );
    }
    for nosy in [Persona::Reader, Persona::Nobody] {
        let refused = service
            .get(&scope.token(nosy), "/audit-trail")
            .await
            .expect_error(403, "forbidden");
        assert!(
            refused.message().contains("project:admin or account:admin"),
            "{}",
            refused.message()
        );
    }
}
