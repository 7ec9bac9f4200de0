//! Tests requests under a foreign host name, as a browser sends them for a page that points its own name at
//! this machine (DNS rebinding).

use tests::{Method, Persona, Service};

/// Host names that the API, the reference page and the ingest URL must refuse.
const FOREIGN: [&str; 9] = [
    "evil.example",
    "evil.example:3000",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "127.0.0.1.nip.io:3000",
    "0.0.0.0",
    "192.168.1.10:3000",
    "user@127.0.0.1",
    "2130706433",
];

const OWN: [&str; 5] = [
    "127.0.0.1",
    "localhost:1234",
    "app.localhost",
    "[::1]:3000",
    "dev.example",
];

#[tokio::test]
async fn request_with_an_unknown_host_is_refused_locally() {
    let service = Service::start_local_with(&[("MILLRACE_HOSTS", "dev.example")]).await;
    let token = service.scope().token(Persona::Developer);
    let origin = service.origin();
    let paths = [
        format!("{origin}/api/v1/prompts"),
        format!("{origin}/docs"),
        format!("{origin}/openapi.json"),
    ];
    let mut wrong = Vec::new();
    for path in &paths {
        for (hosts, status) in [(&FOREIGN[..], 403), (&OWN[..], 200)] {
            for host in hosts {
                let request = service.request(Method::GET, path).token(&token);
                let answer = request.header("host", host).await;
                if answer.status != status {
                    wrong.push(format!("{path} as {host}: {} {}", answer.status, answer.text()));
                }
                if status == 403 {
                    answer.check_error();
                }
            }
        }
    }
    let ingest = format!("{origin}/ingest/webhooks/events/a/b/c");
    for host in FOREIGN {
        let answer = service.request(Method::POST, &ingest).header("host", host).await;
        if answer.status != 403 {
            wrong.push(format!("ingest as {host}: {}", answer.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
