//! Tests invalid access tokens and API keys, and valid ones in places that the service does not read: each
//! gets a 401.
//!
//! Rows that must pass the signature check are signed with the service's own key.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD as URL64};
use futures::future::join_all;
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::file_server::file;
use tests::{FileServer, Method, Persona, Request, Scope, Service};

const HEADERS: &str = include_str!("data/tokens_headers.txt");
const CLAIMS: &str = include_str!("data/tokens_claims.txt");
const FORMS: &str = include_str!("data/tokens_forms.txt");
const KEYS: &str = include_str!("data/tokens_keys.txt");
const PLACES: &str = include_str!("data/tokens_places.txt");
/// Concurrent requests.
const AT_ONCE: usize = 16;
/// Prefix of the point in the DER form of a P-256 public key.
const SPKI: &str = "3059301306072a8648ce3d020106082a8648ce3d030107034200";
/// Order of the group of P-256.
const ORDER: &str = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";

/// Name of a row, and the token or key that must be refused.
type Row = (String, String);

/// Returns the rows of a file: its lines without empty ones and comments.
fn rows(file: &str) -> impl Iterator<Item = &str> {
    let is_row = |line: &&str| !line.is_empty() && !line.starts_with('#');
    file.lines().filter(is_row)
}

/// Replaces names in braces by values.
fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let replace = |text: String, (name, value): &(&str, &str)| text.replace(&format!("{{{name}}}"), value);
    values.iter().fold(text.replace("(empty)", ""), replace)
}

fn row(name: &str, text: impl Into<String>) -> Row {
    (name.to_owned(), text.into())
}

/// Service, a valid token of it, and the keys to forge others.
struct Forge {
    service: Service,
    scope: Scope,
    token: String,
    parts: [String; 3],
    claims: Value,
    /// Key that the service signs with.
    key: EncodingKey,
    attacker: EncodingKey,
    /// Public key of the attacker as JWK.
    attacker_jwk: Value,
}

impl Forge {
    async fn start() -> Self {
        let service = Service::start().await;
        let scope = service.scope();
        let token = scope.token(Persona::Developer);
        let mut parts = token.split('.').map(str::to_owned);
        let parts = [(); 3].map(|()| parts.next().expect("a token has three parts"));
        let key = std::fs::read(service.keys().join("token-signing.pkcs8")).unwrap();
        let attacker = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let point = attacker.public_key_raw();
        let [x, y] = [&point[1..33], &point[33..]].map(|number| URL64.encode(number));
        Self {
            claims: serde_json::from_slice(&URL64.decode(&parts[1]).unwrap()).unwrap(),
            key: EncodingKey::from_ec_der(&key),
            attacker_jwk: json!({
                "alg": "ES256", "kid": "attacker", "kty": "EC", "crv": "P-256", "x": x, "y": y,
            }),
            attacker: EncodingKey::from_ec_der(attacker.serialized_der()),
            service,
            scope,
            token,
            parts,
        }
    }

    /// Returns the text of the service's key set, and its only key.
    fn key_set(&self) -> (String, Value) {
        let text = std::fs::read_to_string(self.service.keys().join("jwks.json")).unwrap();
        let set: Value = serde_json::from_str(&text).unwrap();
        (text, set["keys"][0].clone())
    }

    /// Signs a token with any header and claims.
    fn signed(&self, header: &[u8], claims: &[u8], key: &EncodingKey, algorithm: Algorithm) -> String {
        let [header, claims] = [header, claims].map(|part| URL64.encode(part));
        let message = format!("{header}.{claims}");
        let signature = crypto::sign(message.as_bytes(), key, algorithm).unwrap();
        format!("{message}.{signature}")
    }

    /// Returns the header of valid tokens.
    fn header(&self) -> Vec<u8> {
        URL64.decode(&self.parts[0]).unwrap()
    }

    /// Returns the token with another signature.
    fn with_signature(&self, signature: &[u8]) -> String {
        let [header, claims, _] = &self.parts;
        format!("{header}.{claims}.{}", URL64.encode(signature))
    }

    /// Sends a request that any valid token may make.
    fn ask(&self, token: &str) -> Request {
        self.service.get(token, "/prompts")
    }

    /// Asserts that all tokens of the rows are refused, and that a valid token works afterwards.
    async fn check(&self, rows: &[Row]) {
        check(rows, |token| self.ask(token)).await;
        self.ask(&self.token).await.expect_status(200);
    }
}

/// Asserts that each answer is a 401 in the contract's form.
async fn check(rows: &[Row], ask: impl Fn(&str) -> Request) {
    let mut wrong = Vec::new();
    for chunk in rows.chunks(AT_ONCE) {
        let answers = join_all(chunk.iter().map(|(_, text)| ask(text).into_future())).await;
        for ((name, _), answer) in chunk.iter().zip(answers) {
            if answer.status == 401 && answer.body["error"] == "unauthenticated" {
                answer.check_error();
            } else {
                let text: String = answer.text().chars().take(200).collect();
                wrong.push(format!("{name}: {} {text}", answer.status));
            }
        }
    }
    let (count, of, wrong) = (wrong.len(), rows.len(), wrong.join("\n"));
    assert_eq!(count, 0, "of {of} rows these are wrong:\n{wrong}");
}

#[tokio::test]
async fn no_header_makes_a_token_hold() {
    let forge = Forge::start().await;
    let set = json!({ "keys": [forge.attacker_jwk] }).to_string();
    let server = FileServer::start([("/jwks.json".to_owned(), file(set.as_bytes()))]).await;
    let claims = forge.claims.to_string();
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    let (attacker, own) = (forge.attacker_jwk.to_string(), forge.key_set().1.to_string());
    let names = ["attacker", "service", "url", "deep", "long"];
    let texts = [attacker, own, server.origin.clone(), deep, "x".repeat(40_000)];
    let values: Vec<_> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
    let sign = |row: &str| {
        let (signer, header) = row.split_once(' ').expect("each row names who signs");
        let (header, claims) = (filled(header, &values), claims.as_bytes());
        match signer {
            "service" => forge.signed(header.as_bytes(), claims, &forge.key, Algorithm::ES256),
            "attacker" => forge.signed(header.as_bytes(), claims, &forge.attacker, Algorithm::ES256),
            "none" => {
                let [header, claims] = [header.as_bytes(), claims].map(|part| URL64.encode(part));
                format!("{header}.{claims}.")
            }
            _ => panic!("{row}"),
        }
    };
    // A token that is forged from valid parts works.
    let same = sign(&format!("service {}", String::from_utf8(forge.header()).unwrap()));
    forge.ask(&same).await.expect_status(200);
    let all: Vec<_> = rows(HEADERS).map(|row| (row.to_owned(), sign(row))).collect();
    forge.check(&all).await;
    let requests = server.requests();
    assert!(
        requests.is_empty(),
        "a token's own key set was asked for: {requests:?}"
    );
}

#[tokio::test]
async fn bad_claims_do_not_hold_though_they_are_signed() {
    let forge = Forge::start().await;
    let now = forge.claims["nbf"].as_i64().expect("it says since when it holds");
    let mut values = vec![
        ("long", "x".repeat(129)),
        ("longer", "x".repeat(200)),
        ("longest", "x".repeat(256)),
    ];
    for name in ["-3600", "-60", "-45", "+60", "+3600", "+99999999"] {
        let seconds: i64 = name.parse().unwrap();
        values.push((name, (now + seconds).to_string()));
    }
    let values: Vec<_> = values
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let good = forge.claims.to_string();
    let with = |row: &str| match row.split_once(' ').expect("each row names a claim") {
        ("=", whole) => filled(whole, &values),
        ("+", more) => format!("{},{}}}", good.trim_end_matches('}'), filled(more, &values)),
        (claim, value) => {
            let mut claims = forge.claims.clone();
            claims.as_object_mut().unwrap().remove(claim);
            let rest = claims.to_string();
            match value {
                "-" => rest,
                value => format!(
                    "{},\"{claim}\":{}}}",
                    rest.trim_end_matches('}'),
                    filled(value, &values)
                ),
            }
        }
    };
    let sign = |claims: &[u8]| forge.signed(&forge.header(), claims, &forge.key, Algorithm::ES256);
    // Tokens that are forged from valid claims work, and a claim that the service does not read is ignored.
    for row in [
        "sub \"a\"",
        "aud [\"other\",\"millrace\"]",
        "exp 9223372036854775807",
        "+ \"x\":1",
    ] {
        forge.ask(&sign(with(row).as_bytes())).await.expect_status(200);
    }
    let mut all: Vec<_> = rows(CLAIMS)
        .map(|form| row(form, sign(with(form).as_bytes())))
        .collect();
    let deep = good.replace("[]", &format!("{}{}", "[".repeat(20_000), "]".repeat(20_000)));
    assert_ne!(deep, good);
    let utf16: Vec<_> = good.encode_utf16().flat_map(u16::to_be_bytes).collect();
    all.extend([
        row("permissions 20,000 deep", sign(deep.as_bytes())),
        row("a byte order mark", sign(format!("\u{feff}{good}").as_bytes())),
        row("no UTF-8", sign(&[good.as_bytes(), b"\xff"].concat())),
        row("NUL after the claims", sign(format!("{good}\0").as_bytes())),
        row("a token within a token", sign(forge.token.as_bytes())),
        row("UTF-16", sign(&utf16)),
    ]);
    forge.check(&all).await;
}

#[tokio::test]
async fn a_public_key_is_no_shared_secret() {
    let forge = Forge::start().await;
    let (file, jwk) = forge.key_set();
    let [x, y] = ["x", "y"].map(|name| URL64.decode(jwk[name].as_str().unwrap()).unwrap());
    let der = [hex::decode(SPKI).unwrap(), vec![4], x.clone(), y.clone()].concat();
    let text = BASE64_STANDARD.encode(&der);
    let (first, rest) = text.split_at(64);
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{first}\n{rest}\n-----END PUBLIC KEY-----\n");
    let thumbprint = json!({ "crv": "P-256", "kty": "EC", "x": jwk["x"], "y": jwk["y"] }).to_string();
    let secrets = [
        ("PEM", pem.clone().into_bytes()),
        ("PEM without its last line break", pem.trim_end().into()),
        ("PEM with CRLF", pem.replace('\n', "\r\n").into_bytes()),
        ("DER", der),
        ("DER in base64", text.into_bytes()),
        ("compressed point", [&[2 + y[31] % 2], &x[..]].concat()),
        ("coordinates", [x, y].concat()),
        ("JWK for a thumbprint", thumbprint.clone().into_bytes()),
        ("thumbprint", Sha256::digest(thumbprint).to_vec()),
        ("file", file.into_bytes()),
        ("key id", b"local".to_vec()),
        ("issuer", b"millrace-local".to_vec()),
        ("zeros", vec![0; 32]),
    ];
    let mut all = Vec::new();
    for (name, secret) in &secrets {
        let key = EncodingKey::from_secret(secret);
        for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            // The header may name this algorithm, or still name that of the service.
            for header_algorithm in [format!("{algorithm:?}"), "ES256".to_owned()] {
                let header = json!({ "typ": "JWT", "alg": header_algorithm, "kid": "local" }).to_string();
                let claims = forge.claims.to_string();
                let token = forge.signed(header.as_bytes(), claims.as_bytes(), &key, algorithm);
                all.push((format!("{name}, {algorithm:?} as {header_algorithm}"), token));
            }
        }
    }
    forge.check(&all).await;
}

#[tokio::test]
async fn a_token_that_is_changed_in_any_way_does_not_hold() {
    let forge = Forge::start().await;
    let [header, claims, signature] = &forge.parts;
    let bytes = URL64.decode(signature).unwrap();
    let (r, s) = bytes.split_at(32);
    let spaced = URL64.encode([&forge.header()[..], b" "].concat());
    let standard = format!("+{}", BASE64_STANDARD_NO_PAD.encode(&bytes[1..]));
    // The last of 86 letters holds two bits; its other four bits must be zero.
    let (rest, last) = signature.split_at(signature.len() - 1);
    let other_bits = format!("{rest}{}", char::from(last.as_bytes()[0] + 1));
    let other = forge.scope.token(Persona::OtherAccount);
    let (_, foreign) = other.rsplit_once('.').unwrap();
    let (large, small) = (forge.token.to_uppercase(), forge.token.to_lowercase());
    let [base64, hex] = [BASE64_STANDARD.encode(&forge.token), hex::encode(&forge.token)];
    let names = "h c s t H S other_bits foreign upper lower base64 hex".split(' ');
    let parts: [&str; 4] = [header, claims, signature, &forge.token];
    let texts: [&str; 8] = [
        &spaced,
        &standard,
        &other_bits,
        foreign,
        &large,
        &small,
        &base64,
        &hex,
    ];
    let values: Vec<_> = names.zip(parts.into_iter().chain(texts)).collect();
    let mut all: Vec<_> = rows(FORMS).map(|form| row(form, filled(form, &values))).collect();
    for (at, part) in forge.parts.iter().enumerate() {
        for byte in [0, part.len() / 3, part.len() * 3 / 4 - 1] {
            let mut parts = forge.parts.clone();
            let mut decoded = URL64.decode(part).unwrap();
            decoded[byte] ^= 1;
            parts[at] = URL64.encode(decoded);
            all.push((format!("bit of byte {byte} of part {at}"), parts.join(".")));
        }
    }
    let order = hex::decode(ORDER).unwrap();
    let number = |number: &[u8]| {
        let sign: &[u8] = if number[0] > 127 { &[0] } else { &[] };
        [&[2, (number.len() + sign.len()) as u8], sign, number].concat()
    };
    let body = [number(r), number(s)].concat();
    let der = [&[0x30, body.len() as u8], &body[..]].concat();
    for (name, signature) in [
        ("zeros", vec![0; 64]),
        ("ones", vec![0xff; 64]),
        ("r = s = 1", [[0; 31].as_slice(), &[1], &[0; 31], &[1]].concat()),
        ("r = 0", [&[0; 32], s].concat()),
        ("s = 0", [r, &[0; 32]].concat()),
        ("r = the order", [&order, s].concat()),
        ("s = the order", [r, &order].concat()),
        ("r = s = the order", order.repeat(2)),
        ("r and s exchanged", [s, r].concat()),
        ("DER", der),
        ("63 bytes", bytes[..63].to_vec()),
        ("65 bytes", [&bytes[..], &[0]].concat()),
        ("zero before", [&[0], &bytes[..]].concat()),
        ("r alone", r.to_vec()),
        ("one byte", bytes[..1].to_vec()),
        ("twice", bytes.repeat(2)),
        ("96 bytes as of ES384", [&bytes[..], r].concat()),
        ("reversed", bytes.iter().rev().copied().collect()),
        (
            "hash of what is signed",
            Sha256::digest(format!("{header}.{claims}")).to_vec(),
        ),
        ("hexadecimal", hex::encode(&bytes).into_bytes()),
        ("40 KB", bytes.repeat(640)),
    ] {
        all.push((format!("signature: {name}"), forge.with_signature(&signature)));
    }
    for part in ["a", ".", "{", "a.", "eyJ"] {
        all.push((format!("60 KB of {part}"), part.repeat(60_000 / part.len())));
    }
    forge.check(&all).await;
}

#[tokio::test]
async fn no_api_key_but_the_whole_one_holds() {
    let forge = Forge::start().await;
    let (service, scope, other) = (&forge.service, &forge.scope, forge.service.scope());
    let make = |scope: &Scope| scope.ops_json(&["key", "create", "ci", "--roles", "developer"]);
    let keys = [scope, scope, &other, scope].map(make);
    let revoked = keys[3]["id"].as_str().expect("a key has an id");
    scope.ops(&["key", "revoke", revoked]).expect_success();
    let [key, second, ..] = keys
        .each_ref()
        .map(|record| record["key"].as_str().expect("it is shown"));
    let halves = keys.each_ref().map(|record| {
        let key = record["key"].as_str().and_then(|key| key.strip_prefix("sk-"));
        key.and_then(|key| key.split_once('.'))
            .expect("a key has two parts")
    });
    let hash = hex::encode(Sha256::digest(halves[0].1));
    let [(place, secret), two, three, four] = halves;
    let (large, small) = (secret.to_uppercase(), secret.to_lowercase());
    let (long, small_place) = ("x".repeat(12_000), place.to_lowercase());
    let names = "key token hash id account project account2 project2 place secret place2 secret2 place3 \
                 secret3 place4 secret4 SECRET small small_place long short";
    let id = keys[0]["id"].as_str().expect("a key has an id");
    let of_scopes = [&scope.account, &scope.project, &other.account, &other.project].map(String::as_str);
    let of_keys = [place, secret, two.0, two.1, three.0, three.1, four.0, four.1];
    let changed: [&str; 5] = [&large, &small, &small_place, &long, &key[..key.len() - 1]];
    let texts = [
        &[key, &forge.token, &hash, id],
        &of_scopes[..],
        &of_keys,
        &changed,
    ];
    let values: Vec<_> = names.split_whitespace().zip(texts.concat()).collect();
    let key_of = |form: &str| {
        let text = filled(form, &values);
        match (text.split_once('['), text.split_once(']')) {
            (Some((before, _)), Some((encoded, after))) => {
                let encoded = URL64.encode(&encoded[before.len() + 1..]);
                format!("{before}{encoded}{after}")
            }
            _ => text,
        }
    };
    let mut all: Vec<_> = rows(KEYS).map(|form| row(form, key_of(form))).collect();
    for at in [3, 2 + place.len(), 4 + place.len(), key.len() - 20, key.len() - 1] {
        let mut letters = key.as_bytes().to_vec();
        letters[at] = if letters[at] == b'A' { b'B' } else { b'A' };
        let letters = String::from_utf8(letters).unwrap();
        all.push((format!("another letter at {at}"), letters));
    }
    let encoded = [&b"a/b/c\0"[..], b"\xff/\xff/\xff"].map(|place| URL64.encode(place));
    all.extend(encoded.map(|place| row("place of other bytes", format!("sk-{place}.{secret}"))));
    let stores = || service.request(Method::GET, "/data");
    check(&all, |key| stores().header("x-api-key", key)).await;
    // As a bearer token, an access token is valid.
    all.retain(|(name, _)| name != "{token}");
    check(&all, |key| service.get(key, "/data")).await;
    for key in [key, second] {
        service.get(key, "/data").await.expect_status(200);
    }
}

#[tokio::test]
async fn credentials_count_only_where_the_contract_has_them() {
    let forge = Forge::start().await;
    let create = ["key", "create", "ci", "--roles", "developer"];
    let created_key = forge.scope.ops_json(&create);
    let key = created_key["key"].as_str().expect("it is shown");
    let bad = forge.with_signature(&[7; 64]);
    let password = BASE64_STANDARD.encode(format!("{}:{}", forge.token, forge.token));
    let texts = [&forge.token, key, &bad, &password];
    let values: Vec<_> = ["token", "key", "bad", "base64"].into_iter().zip(texts).collect();
    let fill = |text: &str| filled(text, &values).replace("\\t", "\t");
    let mut wrong = Vec::new();
    for row in rows(PLACES) {
        let mut parts = row.split(" | ");
        let line: Vec<_> = parts.next().unwrap_or_default().splitn(3, ' ').collect();
        let (status, method): (u16, Method) = (line[0].parse().unwrap(), line[1].parse().unwrap());
        let mut request = forge.service.request(method, &fill(line[2]));
        for header in parts {
            let (name, value) = header.split_once(": ").expect("each header has a value");
            request = request.header(name, &fill(value));
        }
        let answer = request.await;
        if answer.status >= 400 {
            answer.check_error();
        }
        if answer.status != status {
            wrong.push(format!("{row}: {} {}", answer.status, answer.text()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let prompts = forge.ask(&forge.token).await.expect_status(200);
    assert_eq!(prompts.body, json!([]));
}
