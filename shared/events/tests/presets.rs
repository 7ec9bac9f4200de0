//! Holds every preset against requests that the libraries of senders signed, and against forged ones.
//!
//! `tests/data/senders/vectors.jsonl` has for each request the library that signed it, or verified it where
//! the library only verifies, with its version.
#![cfg(test)]

use std::collections::BTreeSet;

use events::sender::body::{Arrays, Body};
use events::sender::certificate::public_key;
use events::sender::preset::{self, Preset};
use events::sender::signature::SignatureRule;
use events::sender::verify::Key;
use events::sender::{Fields, Item, Refusal, Request};
use events::transform::{Defaults, Incoming, read};
use http::{HeaderMap, HeaderName};
use platform::UtcTime;
use serde::Deserialize;
use serde_json::{Map, Value};

const VECTORS: &str = include_str!("../../../tests/data/senders/vectors.jsonl");

#[derive(Clone, Deserialize)]
struct Vector {
    preset: String,
    /// Unix seconds.
    at: i64,
    url: String,
    headers: Map<String, Value>,
    body: String,
    secret: Option<String>,
    public_key: Option<String>,
    certificate: Option<String>,
    event: Map<String, Value>,
}

fn vectors() -> Vec<Vector> {
    VECTORS
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

impl Vector {
    fn preset(&self) -> &'static Preset {
        preset::get(&self.preset).unwrap()
    }

    fn rule(&self) -> SignatureRule {
        let rule = self.preset().settings.signature.clone().unwrap();
        let rule = SignatureRule {
            public_key: self.public_key.clone(),
            ..rule
        };
        rule.check().unwrap();
        rule
    }

    fn headers(&self) -> HeaderMap {
        let headers = self.headers.iter().map(|(name, value)| {
            let name: HeaderName = name.parse().unwrap();
            (name, value.as_str().unwrap().parse().unwrap())
        });
        headers.collect()
    }

    /// Hands the request and its parsed body to `check`.
    fn read<T>(&self, check: impl FnOnce(Request<'_>, &Body) -> T) -> T {
        let headers = self.headers();
        let request = Request {
            method: "POST",
            url: &self.url,
            headers: &headers,
            body: self.body.as_bytes(),
        };
        let arrays = self.preset().settings.arrays.unwrap_or(Arrays::Split);
        check(request, &Body::read(request, 1_000_000, arrays).unwrap())
    }

    fn verify(&self, rule: &SignatureRule, late_s: i64) -> Result<(), Refusal> {
        let now = UtcTime::from_millis((self.at + late_s) * 1_000).unwrap();
        let secret = self.secret.clone().unwrap_or_default();
        self.read(|request, body| {
            let fields = Fields {
                request,
                body: &body.whole,
            };
            let Some(certificate) = &rule.certificate else {
                return rule.verify(Key::Secret(&secret), fields, now);
            };
            certificate.address(fields)?;
            let key = public_key(self.certificate.as_ref().unwrap().as_bytes()).unwrap();
            rule.verify(Key::Public(&key, &secret), fields, now)
        })
    }

    fn incoming(&self) -> Incoming {
        let settings = &self.preset().settings;
        let defaults = Defaults {
            action: settings.default_action.as_deref(),
            resource_type: settings.default_resource_type.as_deref(),
            transform: settings.transform.as_ref(),
            headers: &settings.headers,
        };
        self.read(|request, body| {
            let item: &Item = body.items.first().unwrap();
            read(request, item, defaults).unwrap()
        })
    }

    /// Changes each header with a part of this name.
    fn with_headers(&self, part: &str, change: impl Fn(&str) -> String) -> Self {
        let mut vector = self.clone();
        for (name, value) in &mut vector.headers {
            if name.contains(part) {
                *value = change(value.as_str().unwrap()).into();
            }
        }
        vector
    }
}

#[test]
fn requests_of_sender_libraries_are_verified_and_forged_ones_refused() {
    for vector in vectors() {
        let (rule, name) = (vector.rule(), &vector.preset);
        assert_eq!(vector.verify(&rule, 0), Ok(()), "{name}");
        let mut forged = Vec::new();
        if rule.covers_body() {
            let body = match vector.body.starts_with(['{', '[']) {
                true => format!("{} ", vector.body),
                false => format!("{}&more=1", vector.body),
            };
            forged.push((
                "another body",
                Vector {
                    body,
                    ..vector.clone()
                },
                rule.clone(),
                0,
            ));
        }
        if rule.timestamp.is_some() {
            let tolerance = i64::from(rule.tolerance_seconds.unwrap_or(300));
            for late_s in [tolerance + 1, -tolerance - 2] {
                forged.push(("another time", vector.clone(), rule.clone(), late_s));
            }
        }
        if rule.needs_secret() {
            let mut secret = vector.secret.clone().unwrap();
            let last = secret.pop();
            secret.push(if last == Some('A') { 'B' } else { 'A' });
            let secret = Some(secret);
            forged.push((
                "another secret",
                Vector {
                    secret,
                    ..vector.clone()
                },
                rule.clone(),
                0,
            ));
        }
        for (why, change) in [
            ("no signature", (|_: &str| String::new()) as fn(&str) -> String),
            ("a cut signature", |value| {
                value
                    .split([' ', ','])
                    .map(|part| part.chars().skip(4).collect::<String>())
                    .collect::<Vec<_>>()
                    .join(",")
            }),
            ("another signature", |value| {
                let turn = |char: char| match char {
                    'a'..='y' | 'A'..='Y' | '0'..='8' => char::from_u32(u32::from(char) + 1).unwrap_or(char),
                    char => char,
                };
                value.chars().map(turn).collect()
            }),
        ] {
            let in_body = rule.header.starts_with("body:");
            let vector = match in_body {
                true => Vector {
                    body: vector.body.replace("ignature\":\"", "ignature\":\"x"),
                    ..vector.clone()
                },
                false => {
                    let header = rule.header.clone();
                    vector.with_headers(&header, change)
                }
            };
            forged.push((why, vector, rule.clone(), 0));
        }
        if rule
            .content
            .as_deref()
            .is_some_and(|content| content.contains("url"))
        {
            let url = vector.url.replace("c1", "c2");
            forged.push((
                "another URL",
                Vector {
                    url,
                    ..vector.clone()
                },
                rule.clone(),
                0,
            ));
        }
        for (why, forged, rule, late_s) in forged {
            assert!(forged.verify(&rule, late_s).is_err(), "{name}: {why}");
        }
    }
}

#[test]
fn requests_of_senders_become_the_events_that_people_filter() {
    for vector in vectors() {
        let incoming = vector.incoming();
        assert_eq!(incoming.warnings, Vec::<String>::new(), "{}", vector.preset);
        for (field, expected) in &vector.event {
            let part = match field.as_str() {
                "action" => Some(incoming.action.as_str()),
                "resource_type" => Some(incoming.resource_type.as_str()),
                "resource_id" => incoming.resource_id.as_deref(),
                "key" => incoming.idempotency_key.as_deref(),
                other => panic!("{other} is no part of an event"),
            };
            assert_eq!(part, expected.as_str(), "{}: {field}", vector.preset);
        }
    }
}

#[test]
fn no_signature_opens_a_channel_of_another_preset() {
    for vector in vectors() {
        for other in preset::all() {
            let Some(rule) = &other.settings.signature else {
                continue;
            };
            let is_same = |rule: &SignatureRule, own: &SignatureRule| {
                rule.header == own.header && rule.content == own.content
            };
            if is_same(rule, &vector.rule()) || rule.certificate.is_some() {
                continue;
            }
            let rule = SignatureRule {
                public_key: vector.public_key.clone().filter(|_| rule.public_key.is_some()),
                ..rule.clone()
            };
            assert!(
                vector.verify(&rule, 0).is_err(),
                "{} opens {}",
                vector.preset,
                other.name
            );
        }
    }
}

#[test]
fn presets_are_whole_and_named_once() {
    let names: BTreeSet<_> = preset::all().iter().map(|preset| preset.name.as_str()).collect();
    assert_eq!(names.len(), preset::all().len());
    assert!(names.len() >= 45, "{}", names.len());
    for preset in preset::all() {
        assert!(preset.documentation.starts_with("https://"), "{}", preset.name);
        assert!(preset.setup.ends_with('.'), "{}", preset.name);
        let settings = &preset.settings;
        settings
            .handshakes
            .iter()
            .for_each(|handshake| handshake.check().unwrap());
        if let Some(transform) = &settings.transform {
            transform.check().unwrap();
        }
        if let Some(rule) = &settings.signature {
            // The owner of a channel adds the public key.
            let needs_key = ["ed25519", "ecdsa"]
                .iter()
                .any(|scheme| format!("{:?}", rule.scheme).eq_ignore_ascii_case(scheme));
            assert_eq!(rule.check().is_err(), needs_key, "{}", preset.name);
        }
    }
}
