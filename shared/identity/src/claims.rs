//! Finds values in the claims of a token. Providers name and nest them differently.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use platform::config::ConfigError;

pub type Claims = Map<String, Value>;

/// Returns the value at a path: a claim's name, which may contain dots, or names joined by dots. The longest
/// name that the claims have counts first, so `https://example.com/roles` is one name.
pub fn find<'a>(claims: &'a Claims, path: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(path) {
        return Some(value).filter(|value| !value.is_null());
    }
    path.rmatch_indices('.').find_map(|(dot, _)| {
        let inner = claims.get(path.get(..dot)?)?.as_object()?;
        find(inner, path.get(dot + 1..)?)
    })
}

/// Returns the texts of a claim: an array of texts, or one text. None for a value of another type.
pub fn texts(value: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match value {
        Value::Array(values) => values.iter().map(text).collect(),
        other => text(other).map(|text| vec![text]),
    }
}

/// Returns the names in a claim: an array of texts, one text, or the parts of a `scope` or `scp`, which is
/// cut at blanks (RFC 8693, 4.2).
fn names(path: &str, value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(scope) if is_scope(path) => Some(scope.split_whitespace().map(str::to_owned).collect()),
        other => texts(other),
    }
}

fn is_scope(path: &str) -> bool {
    matches!(path.rsplit(['.', '/']).next(), Some("scope" | "scp"))
}

/// Whether a claim has one of these values: itself, or as an entry of an array or of a scope.
pub fn has_one_of(claims: &Claims, path: &str, values: &[Value]) -> bool {
    match find(claims, path) {
        Some(Value::Array(entries)) => entries.iter().any(|entry| values.contains(entry)),
        Some(Value::String(scope)) if is_scope(path) => {
            let mut parts = scope.split_whitespace();
            parts.any(|part| values.iter().any(|value| value == part))
        }
        Some(value) => values.contains(value),
        None => false,
    }
}

/// One text or several, as settings write them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        }
    }
}

/// Where one text of a caller is found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Paths of claims; the first that the token has counts.
    pub paths: Vec<String>,
    /// Text where the token has none of them.
    pub default: Option<String>,
}

/// A source as settings write it: a claim, several, `{"claim": …, "default": …}`, or `{"value": …}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum WrittenSource {
    Claim(OneOrMany),
    Named(NamedSource),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedSource {
    claim: Option<OneOrMany>,
    default: Option<String>,
    value: Option<String>,
}

impl WrittenSource {
    pub fn read(self, what: &str) -> Result<Source, ConfigError> {
        let source = match self {
            Self::Claim(paths) => Source {
                paths: paths.into_vec(),
                default: None,
            },
            Self::Named(NamedSource {
                claim: None,
                default: None,
                value: Some(value),
            }) => Source {
                paths: Vec::new(),
                default: Some(value),
            },
            Self::Named(NamedSource {
                claim: Some(paths),
                default,
                value: None,
            }) => Source {
                paths: paths.into_vec(),
                default,
            },
            Self::Named(_) => {
                return Err(ConfigError::new(format!(
                    "`{what}` must be a claim's name, {{\"claim\": …, \"default\": …}} or {{\"value\": …}}"
                )));
            }
        };
        if source.paths.iter().chain(&source.default).any(String::is_empty) {
            return Err(ConfigError::new(format!("`{what}` contains an empty text")));
        }
        Ok(source)
    }
}

/// A text, and the claim that it is from; None for a value of the settings.
pub struct Found {
    pub text: String,
    pub path: Option<String>,
}

impl Source {
    pub fn claim(path: &str) -> Self {
        Self {
            paths: vec![path.to_owned()],
            default: None,
        }
    }

    /// Returns the text that the token or the settings give, or None. Fails with a sentence where a claim has
    /// several texts, or none that is a text.
    pub fn find(&self, claims: &Claims) -> Result<Option<Found>, String> {
        let first = self
            .paths
            .iter()
            .find_map(|path| find(claims, path).map(|value| (path, value)));
        let Some((path, value)) = first else {
            let default = self.default.clone();
            return Ok(default.map(|text| Found { text, path: None }));
        };
        let mut texts = texts(value).ok_or_else(|| format!("its claim '{path}' is not a text"))?;
        match (texts.pop(), texts.is_empty()) {
            (Some(text), true) => Ok(Some(Found {
                text,
                path: Some(path.clone()),
            })),
            (Some(_), false) => Err(format!(
                "its claim '{path}' has several values where one is needed"
            )),
            (None, _) => Err(format!("its claim '{path}' is empty")),
        }
    }
}

/// Where the roles of a caller are found, and what the provider's names mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleSource {
    /// Paths of claims; the names of all of them count.
    pub paths: Vec<String>,
    /// Our roles by the provider's names. Names that are not in it grant nothing. None where the provider's
    /// names are ours.
    pub map: Option<BTreeMap<String, Vec<String>>>,
    /// Roles of every caller.
    pub always: Vec<String>,
}

/// Roles as settings write them: a claim, several, or an object.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum WrittenRoles {
    Claim(OneOrMany),
    Named(NamedRoles),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedRoles {
    claim: Option<OneOrMany>,
    map: Option<BTreeMap<String, OneOrMany>>,
    #[serde(default)]
    always: Vec<String>,
}

impl WrittenRoles {
    /// Returns the source, with the preset's claims where the settings name none.
    pub fn read(self, preset: &[&str]) -> RoleSource {
        match self {
            Self::Claim(paths) => RoleSource {
                paths: paths.into_vec(),
                ..RoleSource::default()
            },
            Self::Named(named) => RoleSource {
                paths: named.claim.map_or_else(
                    || preset.iter().map(ToString::to_string).collect(),
                    OneOrMany::into_vec,
                ),
                map: named.map.map(|map| {
                    let roles = map.into_iter().map(|(name, roles)| (name, roles.into_vec()));
                    roles.collect()
                }),
                always: named.always,
            },
        }
    }
}

impl RoleSource {
    /// Returns the provider's names in the token, each with the claim that it is from. Fails with a sentence
    /// for a claim of another type.
    pub fn names(&self, claims: &Claims) -> Result<Vec<(String, String)>, String> {
        let mut all = Vec::new();
        for path in &self.paths {
            let Some(value) = find(claims, path) else {
                continue;
            };
            let names = names(path, value)
                .ok_or_else(|| format!("its claim '{path}' is neither a text nor an array of texts"))?;
            all.extend(names.into_iter().map(|name| (name, path.clone())));
        }
        Ok(all)
    }

    /// Returns what a name of the provider grants.
    pub fn roles_of<'a>(&'a self, name: &'a str) -> Vec<&'a str> {
        match &self.map {
            Some(map) => map
                .get(name)
                .map(|roles| roles.iter().map(String::as_str).collect())
                .unwrap_or_default(),
            None => vec![name],
        }
    }

    /// Returns the caller's roles, each once.
    pub fn find(&self, claims: &Claims) -> Result<Vec<String>, String> {
        let mut roles = self.always.clone();
        for (name, _) in self.names(claims)? {
            for role in self.roles_of(&name) {
                if !roles.iter().any(|known| known == role) {
                    roles.push(role.to_owned());
                }
            }
        }
        Ok(roles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn claims(value: Value) -> Claims {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn path_with_dots_is_one_name_first_and_then_several() {
        let claims = claims(json!({
            "https://example.com/roles": ["a"], "cognito:groups": ["b"], "realm_access": { "roles": ["c"] },
            "resource_access": { "my.client": { "roles": ["d"] } }, "a.b": { "c": "e" }, "empty": null, "a": { "b.c": "f" },
        }));
        for (path, expected) in [
            ("https://example.com/roles", json!(["a"])),
            ("cognito:groups", json!(["b"])),
            ("realm_access.roles", json!(["c"])),
            ("resource_access.my.client.roles", json!(["d"])),
            ("a.b.c", json!("e")),
        ] {
            assert_eq!(find(&claims, path), Some(&expected), "{path}");
        }
        for path in [
            "empty",
            "realm_access.roles.0",
            "realm_access.",
            ".",
            "",
            "nothing.at.all",
        ] {
            assert_eq!(find(&claims, path), None, "{path}");
        }
    }

    #[test]
    fn names_are_texts_and_the_parts_of_a_scope() {
        for (path, value, expected) in [
            ("roles", json!(["a b", "c"]), Some(&["a b", "c"][..])),
            ("roles", json!("Domain Admins"), Some(&["Domain Admins"])),
            ("scope", json!("read write"), Some(&["read", "write"])),
            (
                "https://example.com/scp",
                json!("read write"),
                Some(&["read", "write"]),
            ),
            ("scp", json!(["a b"]), Some(&["a b"])),
            ("roles", json!([]), Some(&[])),
            ("roles", json!(["a", 7]), None),
            ("roles", json!(12), None),
            ("scope", json!({ "a": 1 }), None),
        ] {
            let expected = expected.map(|texts| texts.iter().map(ToString::to_string).collect::<Vec<_>>());
            assert_eq!(names(path, &value), expected, "{path} {value}");
        }
    }

    #[test]
    fn source_is_a_claim_a_default_or_a_value() {
        let read = |source: Value| {
            let source: WrittenSource = serde_json::from_value(source).unwrap();
            source.read("account").unwrap()
        };
        let claims = claims(json!({ "org": "acme", "orgs": ["one"], "many": ["a", "b"], "flag": true }));
        let text_of = |source: Value| {
            let text = read(source).find(&claims).map_err(Some)?;
            text.map(|text| text.text).ok_or(None::<String>)
        };
        assert_eq!(text_of(json!("org")), Ok("acme".to_owned()));
        assert_eq!(text_of(json!(["none", "orgs"])), Ok("one".to_owned()));
        assert_eq!(text_of(json!({ "value": "here" })), Ok("here".to_owned()));
        assert_eq!(
            text_of(json!({ "claim": "none", "default": "d" })),
            Ok("d".to_owned())
        );
        assert_eq!(
            text_of(json!({ "claim": "org", "default": "d" })),
            Ok("acme".to_owned())
        );
        assert_eq!(text_of(json!("none")), Err(None));
        assert!(
            text_of(json!("many"))
                .unwrap_err()
                .unwrap()
                .contains("several values")
        );
        assert!(
            text_of(json!("flag"))
                .unwrap_err()
                .unwrap()
                .contains("is not a text")
        );
        let both: WrittenSource = serde_json::from_value(json!({ "claim": "a", "value": "b" })).unwrap();
        assert!(both.read("account").is_err());
    }

    #[test]
    fn name_outside_the_map_grants_nothing() {
        let roles: WrittenRoles = serde_json::from_value(json!({
            "claim": ["groups", "scope"], "map": { "Admins of all": "project_admin", "dev": ["developer", "executor"] },
            "always": ["reader"],
        }))
        .unwrap();
        let roles = roles.read(&[]);
        let roles_of = |value: Value| roles.find(&claims(value)).unwrap();
        assert_eq!(
            roles_of(json!({ "groups": ["Admins of all", "account_admin"], "scope": "dev x" })),
            ["reader", "project_admin", "developer", "executor"]
        );
        assert_eq!(
            roles_of(json!({ "groups": "Admins of all" })),
            ["reader", "project_admin"]
        );
        let plain: WrittenRoles = serde_json::from_value(json!("roles")).unwrap();
        assert_eq!(
            plain
                .read(&[])
                .find(&claims(json!({ "roles": "reader" })))
                .unwrap(),
            ["reader"]
        );
    }
}
