//! Decides whether an answer is correct and leaks nothing.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;
use tests::{Answer, redacted};

use super::callers::Caller;
use super::rows::{Expected, Row};
use super::world::{Exchange, Ids, World};

/// Headers that differ between two answers to the same request.
const PASSING: [&str; 4] = ["content-length", "date", "x-amzn-trace-id", "x-request-id"];
/// Names that two tenants may both use.
const SHARED_NAMES: [&str; 5] = ["account", "idempotency", "project", "table", "tag"];
/// Operations whose `Location` names something that no operation reads.
const UNREAD: [&str; 2] = ["createDashboardSnapshot", "createStoreSnapshot"];

impl World {
    /// Returns the faults in the answers that a caller gets to a row.
    pub async fn judge(&self, row: &Row, letter: char) -> Vec<String> {
        let caller = self.caller(letter);
        let status = if caller.has_no_project() { 403 } else { row.status };
        let foreign = match self.ask(row, caller, Ids::Foreign).await {
            Ok(foreign) => foreign,
            Err(error) => return vec![format!("{letter} {row}: {error}")],
        };
        let mut faults = faults_of(&foreign.answer, status);
        let is_own = row.expected == Expected::Own && !caller.has_no_project();
        let tolerated = foreign.foreign.iter();
        let tolerated = tolerated
            .filter(|(_, name)| !is_own || is_shared(name))
            .map(|(value, _)| value);
        faults.extend(self.leaks(&foreign.answer, tolerated));
        if is_own {
            faults.extend(strays(&foreign.answer.body, caller));
            if foreign.answer.status == 201 && !UNREAD.contains(&row.operation.as_str()) {
                faults.extend(self.place_faults(&foreign.answer, caller).await);
            }
        } else {
            faults.extend(self.difference(row, caller, &foreign).await);
        }
        let what = format!(
            "{letter} {row}: {} {}",
            foreign.answer.status,
            foreign.answer.text()
        );
        faults
            .into_iter()
            .map(|fault| format!("{what}\n  {fault}"))
            .collect()
    }

    /// Returns the difference between the answer and that for an id that never existed.
    async fn difference(&self, row: &Row, caller: &Caller, foreign: &Exchange) -> Option<String> {
        let absent = match self.ask(row, caller, Ids::Absent).await {
            Ok(absent) => absent,
            Err(error) => return Some(format!("with an id that never existed: {error}")),
        };
        let of = |one: &Exchange| format!("{} {}", one.answer.status, self.comparable(one, caller));
        let (here, there) = (of(foreign), of(&absent));
        (here != there).then(|| format!("it is {here}\n  and for an id that never existed {there}"))
    }

    /// Returns the fault in the answer that the owner gets to a row. Where others get a list, the owner's
    /// list must contain data of the victim.
    pub async fn judge_owner(&self, row: &Row) -> Option<String> {
        let exchange = match self.ask(row, &self.owner(), Ids::Foreign).await {
            Ok(exchange) => exchange,
            Err(error) => return Some(format!("the owner's {row}: {error}")),
        };
        let tells = self.leaks(&exchange.answer, exchange.foreign.iter().map(|(value, _)| value));
        let is_good =
            Some(exchange.answer.status) == row.owner_status && (row.status != 200 || !tells.is_empty());
        (!is_good).then(|| {
            format!(
                "the owner's {row}: {} {}",
                exchange.answer.status,
                exchange.answer.text()
            )
        })
    }

    /// Checks that a created resource is visible to the caller, and not to the victim.
    async fn place_faults(&self, answer: &Answer, caller: &Caller) -> Vec<String> {
        let place = self.service.located(answer.header("location"));
        let mut faults = Vec::new();
        for (who, credentials, status) in [
            ("the caller", caller.credentials.clone(), 200),
            ("the victim", self.victim.value("token"), 404),
        ] {
            let status_there = self.service.get(&credentials, &place).await.status;
            if status_there != status {
                faults.push(format!("{who} finds it at {place} with {status_there}"));
            }
        }
        faults
    }

    /// Returns the victim's secrets in an answer, except those in the request.
    pub fn leaks<'a>(&self, answer: &Answer, values: impl Iterator<Item = &'a String>) -> Vec<String> {
        let headers = answer
            .headers
            .values()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let mut text = answer.text();
        text.extend(headers.map(|value| format!("\n{value}")));
        let mut text = text.to_lowercase();
        for value in values {
            text = text.replace(&value.to_lowercase(), "");
        }
        let leaked = self.secrets.iter().filter(|secret| text.contains(*secret));
        leaked.map(|secret| format!("it tells '{secret}'")).collect()
    }

    /// Returns an answer without the parts that may differ between a foreign id and one that never existed.
    fn comparable(&self, exchange: &Exchange, caller: &Caller) -> String {
        let answer = &exchange.answer;
        let headers: BTreeMap<_, _> = answer
            .headers
            .iter()
            .filter(|(name, _)| !PASSING.contains(&name.as_str()))
            .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())))
            .collect();
        let mut text = match &answer.body {
            Value::Null => answer.text(),
            body => lasting(body).to_string(),
        };
        text.push_str(&format!(" {headers:?}"));
        let mut replacements = exchange.foreign.clone();
        for household in [&self.victim, &caller.household] {
            replacements.extend(["account", "project"].map(|name| (household.value(name), name.to_owned())));
        }
        // Longest first, because a value may be the prefix of another one.
        replacements.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        for (value, name) in replacements {
            text = text.replace(&value, &format!("<{name}>"));
        }
        redacted(&Value::String(text)).as_str().unwrap().to_owned()
    }
}

/// Returns the faults of an answer that must have a status.
fn faults_of(answer: &Answer, status: u16) -> Vec<String> {
    let mut faults = Vec::new();
    if answer.status != status {
        faults.push(format!("it must be {status}"));
    }
    if answer.status >= 400 {
        let code = match answer.status {
            400 => "invalid_request",
            401 => "unauthenticated",
            403 => "forbidden",
            404 => "not_found",
            409 => "conflict",
            422 => "unprocessable",
            _ => "a documented code",
        };
        if answer.body["error"] != code || catch_unwind(AssertUnwindSafe(|| answer.check_error())).is_err() {
            faults.push(format!("it is no documented error with the code {code}"));
        }
    }
    faults
}

fn is_shared(name: &str) -> bool {
    SHARED_NAMES.contains(&name) || name.ends_with("_name")
}

/// Returns the fields of a record that name another owner than the caller.
fn strays(value: &Value, caller: &Caller) -> Vec<String> {
    let household = &caller.household;
    match value {
        Value::Array(items) => items.iter().flat_map(|item| strays(item, caller)).collect(),
        Value::Object(fields) => {
            let mut faults = Vec::new();
            for (name, value) in fields {
                let right = match name.as_str() {
                    "account_id" => vec![household.value("account")],
                    "project" | "project_id" => vec![household.value("project")],
                    "created_by" | "updated_by" => vec![caller.reference.clone(), household.reference()],
                    _ => {
                        faults.extend(strays(value, caller));
                        continue;
                    }
                };
                if !right.iter().any(|right| value == right) {
                    faults.push(format!("its {name} is {value}"));
                }
            }
            faults
        }
        _ => Vec::new(),
    }
}

/// Returns a body without the fields that differ from answer to answer, and without what a channel refused.
pub fn lasting(body: &Value) -> Value {
    match body {
        Value::Array(items) => items.iter().map(lasting).collect(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !["execution_time_ms", "refusals", "request_id"].contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), lasting(value)))
            .collect(),
        other => other.clone(),
    }
}
