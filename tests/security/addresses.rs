//! Tests addresses that a caller supplies: every notation of a private address is refused, for webhooks and
//! for imports.
//!
//! The rows combine addresses and notations: each special IPv4 address in every notation that a resolver
//! accepts, and in a third of the spellings and of the IPv6 addresses that embed it. The service runs without
//! local targets, as when deployed.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::stores::elsewhere;
use tests::{Answer, Events, Persona, Request, Service, unique};

const DEPLOYED: [(&str, &str); 1] = [("MILLRACE_LOCAL_TARGETS", "false")];
const SUBSCRIPTIONS: &str = "/events/subscriptions";
/// Concurrent requests.
const AT_ONCE: usize = 32;

const IPV4: &str = include_str!("data/addresses_ipv4.txt");
const IPV6: &str = include_str!("data/addresses_ipv6.txt");
const NAMES: &str = include_str!("data/addresses_names.txt");
const URLS: &str = include_str!("data/addresses_urls.txt");
const PUBLIC: &str = include_str!("data/addresses_public.txt");

/// Ports of services other than web servers. Those from 1024 on are the service's own list.
const PORTS: [u16; 73] = [
    0, 1, 7, 9, 19, 21, 22, 23, 25, 53, 69, 110, 111, 135, 139, 143, 161, 389, 445, 465, 514, 587, 636, 873,
    993, 995, 1023, 1433, 1434, 1521, 1719, 1720, 1723, 2049, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045,
    4190, 4369, 5060, 5061, 5432, 5671, 5672, 5900, 5984, 5985, 5986, 6000, 6379, 6443, 6566, 6665, 6666,
    6667, 6668, 6669, 6697, 9042, 9092, 9200, 9300, 10080, 10250, 11211, 27017, 27018, 27019,
];

type Notation = (&'static str, fn(Ipv4Addr) -> String);

/// Hosts that resolvers parse as an IPv4 address.
const NOTATIONS: [Notation; 14] = [
    ("dotted", |address| address.to_string()),
    ("dot at the end", |address| format!("{address}.")),
    ("three parts", |address| {
        let [a, b, c, d] = address.octets();
        format!("{a}.{b}.{}", u16::from_be_bytes([c, d]))
    }),
    ("two parts", |address| {
        format!("{}.{}", address.octets()[0], address.to_bits() & 0xff_ffff)
    }),
    ("one part", |address| address.to_bits().to_string()),
    ("octal parts", |address| {
        parts(address, |part| format!("0{part:o}"))
    }),
    ("long octal parts", |address| {
        parts(address, |part| format!("000000{part:03o}"))
    }),
    ("hexadecimal parts", |address| {
        parts(address, |part| format!("0x{part:x}"))
    }),
    ("hexadecimal in upper case", |address| {
        parts(address, |part| format!("0X{part:X}"))
    }),
    ("mixed parts", |address| {
        let [a, b, c, d] = address.octets();
        format!("{a}.0{b:o}.0x{c:x}.{d}")
    }),
    ("mixed in two parts", |address| {
        format!("0{:o}.0x{:x}", address.octets()[0], address.to_bits() & 0xff_ffff)
    }),
    ("hexadecimal", |address| format!("0x{:x}", address.to_bits())),
    ("long hexadecimal", |address| {
        format!("0x00000000{:08x}.", address.to_bits())
    }),
    ("octal", |address| format!("0{:o}", address.to_bits())),
];

/// Spellings of the dotted form that only a URL parser accepts.
const SPELLINGS: [Notation; 10] = [
    ("percent-encoded", |address| {
        address
            .to_string()
            .bytes()
            .map(|byte| format!("%{byte:02x}"))
            .collect()
    }),
    ("percent-encoded dots", |address| {
        address.to_string().replace('.', "%2E")
    }),
    ("full-width digits", |address| {
        digits(
            address,
            ['０', '１', '２', '３', '４', '５', '６', '７', '８', '９'],
        )
    }),
    ("circled digits", |address| {
        digits(address, ['⓪', '①', '②', '③', '④', '⑤', '⑥', '⑦', '⑧', '⑨'])
    }),
    ("raised digits", |address| {
        digits(address, ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'])
    }),
    ("bold digits", |address| {
        digits(address, ['𝟎', '𝟏', '𝟐', '𝟑', '𝟒', '𝟓', '𝟔', '𝟕', '𝟖', '𝟗'])
    }),
    ("ideographic full stops", |address| {
        address.to_string().replace('.', "。")
    }),
    ("full-width full stops", |address| {
        address.to_string().replace('.', "．")
    }),
    ("soft hyphens", |address| {
        address.to_string().replace('.', "\u{ad}.")
    }),
    ("zero-width spaces", |address| {
        address.to_string().replace('.', ".\u{200b}")
    }),
];

/// Hosts whose IPv6 address embeds an IPv4 address.
const CARRIERS: [Notation; 11] = [
    ("mapped", |address| format!("[::ffff:{address}]")),
    ("mapped, hexadecimal", |address| {
        format!("[::ffff:{}]", groups(address.to_bits()))
    }),
    ("mapped, expanded", |address| {
        format!(
            "[0000:0:0:0000:0:FFFF:{}]",
            groups(address.to_bits()).to_uppercase()
        )
    }),
    ("compatible", |address| format!("[::{address}]")),
    ("translated", |address| format!("[::ffff:0:{address}]")),
    ("NAT64", |address| {
        format!("[64:ff9b::{}]", groups(address.to_bits()))
    }),
    ("local NAT64", |address| format!("[64:ff9b:1::{address}]")),
    ("6to4", |address| {
        format!("[2002:{}::1]", groups(address.to_bits()))
    }),
    ("Teredo", |address| {
        format!(
            "[2001:0:{}:0:fbff:{}]",
            groups(address.to_bits()),
            groups(!address.to_bits())
        )
    }),
    ("ISATAP", |address| format!("[2606:4700::5efe:{address}]")),
    ("ISATAP of a public address", |address| {
        format!("[2606:4700::200:5efe:{}]", groups(address.to_bits()))
    }),
];

fn parts(address: Ipv4Addr, notation: fn(u8) -> String) -> String {
    address.octets().map(notation).join(".")
}

fn digits(address: Ipv4Addr, signs: [char; 10]) -> String {
    let digit = |letter: char| letter.to_digit(10).map_or(letter, |digit| signs[digit as usize]);
    address.to_string().chars().map(digit).collect()
}

/// Returns two groups of an IPv6 address.
fn groups(bits: u32) -> String {
    format!("{:x}:{:x}", bits >> 16, bits & 0xffff)
}

/// Returns the rows of a file: its lines without empty ones and comments.
fn rows(file: &str) -> impl Iterator<Item = &str> {
    file.lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
}

/// Returns the rows of a file whose lines are the contents of JSON strings; `(empty)` is the empty string.
fn urls(file: &str) -> impl Iterator<Item = String> {
    rows(file).map(|row| match row {
        "(empty)" => String::new(),
        row => serde_json::from_str(&format!("\"{row}\"")).expect("each row is the inside of a JSON string"),
    })
}

/// Returns the name and the URL of every row; each URL must be refused.
fn refused_urls() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (index, row) in rows(IPV4).enumerate() {
        let address: Ipv4Addr = row.parse().expect("each row is an IPv4 address");
        let third = SPELLINGS.iter().chain(&CARRIERS).skip(index % 3).step_by(3);
        for (name, notation) in NOTATIONS.iter().chain(third) {
            all.push((
                format!("{address}, {name}"),
                format!("https://{}/hook", notation(address)),
            ));
        }
    }
    all.extend(rows(IPV6).map(|host| (host.to_owned(), format!("https://{host}:8443/"))));
    for name in rows(NAMES) {
        let spellings = [
            format!("https://{name}/"),
            format!("https://{}/", name.to_uppercase()),
            format!("https://{name}./"),
        ];
        all.extend(spellings.map(|url| (format!("name {name}"), url)));
    }
    all.extend(urls(URLS).map(|url| ("URL".to_owned(), url)));
    let of_port = |port| (format!("port {port}"), format!("https://example.com:{port}/"));
    all.extend(PORTS.map(of_port));
    let long = format!("https://example.com/{}", "a".repeat(3_981));
    all.push(("4,001 bytes".to_owned(), long));
    all.push((
        "long host".to_owned(),
        format!("https://{}.com/", "a.".repeat(4_000)),
    ));
    let distinct: BTreeSet<_> = all.iter().map(|(_, url)| url).collect();
    assert_eq!(distinct.len(), all.len(), "a URL occurs twice");
    all
}

fn subscription(url: &str) -> Value {
    json!({
        "name": "Hook", "run_as_role": "reader", "filter": { "event_category": ["external"] },
        "target": { "type": "webhook", "url": url },
    })
}

/// Returns the fault of an answer that must be a 400 whose message names a field.
fn fault(answer: &Answer, field: &str) -> Option<String> {
    if answer.status == 400 {
        answer.check_error();
        let is_told = answer.body["error"] == "invalid_request" && answer.message().contains(field);
        return (!is_told).then(|| answer.message().to_owned());
    }
    Some(format!("{} {}", answer.status, answer.message()))
}

/// Sends each URL, and asserts that each is refused.
async fn check_refused(rows: &[(String, String)], field: &str, send: impl Fn(&str) -> Request) {
    let mut wrong = Vec::new();
    for chunk in rows.chunks(AT_ONCE) {
        let answers = join_all(chunk.iter().map(|(_, url)| send(url).into_future())).await;
        for ((what, url), answer) in chunk.iter().zip(answers) {
            wrong.extend(fault(&answer, field).map(|fault| format!("{what}: {url:?}: {fault}")));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

#[tokio::test]
async fn no_private_address_gets_webhooks_locally() {
    let events = Events::start_local_with(&DEPLOYED).await;
    let all = refused_urls();
    assert!(all.len() >= 1_300, "{} rows", all.len());
    check_refused(&all, "'target.url'", |url| {
        events.post(&events.token, SUBSCRIPTIONS, &subscription(url))
    })
    .await;
    let listed = events.get(&events.token, SUBSCRIPTIONS).await.expect_status(200);
    assert_eq!(listed.body, json!([]));
}

#[tokio::test]
async fn public_addresses_get_webhooks_locally() {
    let events = Events::start_local_with(&DEPLOYED).await;
    let mut all: Vec<String> = urls(PUBLIC).collect();
    all.push(format!("https://example.com/{}", "a".repeat(3_980)));
    let mut wrong = Vec::new();
    for url in &all {
        let answer = events
            .post(&events.token, SUBSCRIPTIONS, &subscription(url))
            .await;
        if answer.status != 201 || answer.body["target"]["url"] != url.as_str() {
            wrong.push(format!("{url}: {} {}", answer.status, answer.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let listed = events.get(&events.token, SUBSCRIPTIONS).await.expect_status(200);
    assert_eq!(listed.each("id").len(), all.len());
}

#[tokio::test]
async fn no_subscription_is_changed_to_a_private_address_locally() {
    let events = Events::start_local_with(&DEPLOYED).await;
    let mut record = events.subscribe(&subscription("https://example.com/")).await;
    // Only the answer to the creation has this warning, that the webhook is not signed.
    record.as_object_mut().unwrap().remove("warnings");
    let path = format!("{SUBSCRIPTIONS}/{}", record["id"].as_str().expect("it has an id"));
    let sample: Vec<_> = refused_urls().into_iter().step_by(29).collect();
    check_refused(&sample, "'target.url'", |url| {
        events.put(&events.token, &path, &json!({ "target": { "url": url } }))
    })
    .await;
    let answer = events.get(&events.token, &path).await.expect_status(200);
    assert_eq!(answer.body, record);
}

#[tokio::test]
async fn nothing_is_imported_from_a_private_address_locally() {
    let service = Service::start_local_with(&DEPLOYED).await;
    let token = service.scope().token(Persona::Developer);
    let store = json!({ "name": unique("store") });
    let store = service
        .post(&token, "/data", &store)
        .await
        .expect_status(201)
        .id();
    let path = format!("/data/{store}");
    let table = json!({ "tables": [{ "name": "t", "columns": [{ "name": "id", "type": "BIGINT" }] }] });
    let answer = service.post(&token, &format!("{path}/tables"), &table).await;
    answer.expect_status(201);
    let before = service.get(&token, &path).await.expect_status(200).body;

    // Each address has 21 rows, so with this step every notation is tested.
    let sample: Vec<_> = refused_urls().into_iter().step_by(13).collect();
    check_refused(&sample, "tables.t.uri", |url| {
        let mut body = elsewhere("t", "url", url);
        body["tables"]["t"]["format"] = "csv".into();
        service.post(&token, &format!("{path}/import"), &body)
    })
    .await;
    assert_eq!(service.get(&token, &path).await.expect_status(200).body, before);
}
