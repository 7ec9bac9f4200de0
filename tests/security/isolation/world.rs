//! Provides a service with three households: the victim's, one in another project of its account, and one in
//! another account whose project has the same name.

use std::collections::HashMap;
use std::ops::Deref as _;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::{Answer, Client, Persona, Receiver, Service, unique};

use super::callers::{self, Caller};
use super::furnishing::{Extent, Furnishing};
use super::household::Household;
use super::rows::{Filled, Row, fill};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// Place in a bucket that imports may read; no row reads from it.
const PLACES: (&str, &str) = ("MILLRACE_IMPORT_BUCKETS", "s3://uploads/{account}/{project}/");
/// Requests of the owner that show that nothing changed.
const OWNERS_VIEW: &str = include_str!("../data/isolation-view.txt");

/// Service and its callers.
pub struct World {
    pub service: Service,
    pub victim: Arc<Household>,
    /// Secrets of the victim, in lower case.
    pub secrets: Vec<String>,
    callers: Vec<Caller>,
    /// Receives webhooks for as long as the world exists.
    _receiver: Receiver,
}

/// Ids that replace `$name` and `^name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    Foreign,
    /// Ids that never existed.
    Absent,
}

/// Request with its answer.
pub struct Exchange {
    pub answer: Answer,
    /// Foreign values in the request, with their names.
    pub foreign: Vec<(String, String)>,
}

impl World {
    /// Starts a service. None where [`Service::start`] skips.
    pub async fn start() -> Self {
        let service = Service::start_with(&[PLACES]).await;
        let receiver = Receiver::start().await;
        let scope = service.scope();
        let (mut next, mut other) = (scope.clone(), scope.clone());
        next.project = scope.other_project();
        other.account = format!("{}-other", scope.account);
        let namesake = unique("namesake");
        let furnish = |scope: &tests::Scope, name: &str, extent, user: &str, token| {
            let furnishing = Furnishing {
                client: service.deref().clone(),
                household: Household::new(scope.clone(), unique(name)),
                token,
                folder: service.folder().to_owned(),
                ingest: service.ingest_url(),
                receiver: receiver.origin.clone(),
                extent,
            };
            let (user, namesake) = (user.to_owned(), namesake.clone());
            tokio::spawn(async move { furnishing.furnish(&user, &namesake).await })
        };
        let user = unique("victim-user");
        let token = scope.token_with(&["--user-id", &user, "--roles", "developer,project_admin"]);
        let [near, far] = [Persona::OtherProject, Persona::OtherAccount].map(|who| scope.token(who));
        let households = [
            furnish(&scope, "victim", Extent::Whole, &user, token),
            furnish(&next, "next", Extent::WithKey, "other-project", near),
            furnish(&other, "other", Extent::Plain, "other-account", far),
        ];
        let households = join_all(households).await.into_iter();
        let households: Vec<_> = households.map(|household| Arc::new(household.unwrap())).collect();
        let [victim, next, other] = households.as_slice() else {
            panic!("there are three households");
        };
        Self {
            callers: callers::all(&scope, victim, next, other),
            secrets: victim.secrets(),
            victim: Arc::clone(victim),
            service,
            _receiver: receiver,
        }
    }

    #[track_caller]
    pub fn caller(&self, letter: char) -> &Caller {
        let caller = self.callers.iter().find(|caller| caller.letter == letter);
        caller.unwrap_or_else(|| panic!("there is no caller {letter}"))
    }

    pub async fn document(&self) -> Value {
        self.service.openapi().await
    }

    /// True if the service has the operation of a row.
    pub fn has(&self, row: &Row) -> bool {
        row.operation != "streamRunUpdates" || self.service.has("/stream")
    }

    pub fn owner(&self) -> Caller {
        Caller {
            letter: '=',
            credentials: self.victim.value("token"),
            reference: self.victim.reference(),
            household: Arc::clone(&self.victim),
        }
    }

    /// Sends a row's request as a caller. Fails where no answer comes.
    pub async fn ask(&self, row: &Row, caller: &Caller, ids: Ids) -> Result<Exchange, String> {
        let mut absent: HashMap<String, String> = HashMap::new();
        let mut filled = |text: &str| -> Filled {
            fill(text, |sign, name| {
                let value = match sign {
                    '$' => self.victim.value(name),
                    _ => caller.household.value(name),
                };
                match (sign, ids) {
                    ('@', _) | (_, Ids::Foreign) => value,
                    _ => absent
                        .entry(value)
                        .or_insert_with_key(|value| never_was(value))
                        .clone(),
                }
            })
        };
        let (target, body) = (filled(&row.target), filled(&row.body));
        let header = row
            .header
            .as_ref()
            .map(|(name, value)| (name.clone(), filled(value)));
        let is_public = row.operation == "ingestEvent";
        let target_text = match target.text.strip_prefix("INGEST/") {
            Some(rest) => format!("{}/webhooks/events/{rest}", self.service.ingest_url()),
            None => target.text,
        };
        let mut request = self.service.request(row.method.clone(), &target_text);
        if !is_public {
            request = request.token(&caller.credentials);
        }
        if !body.text.is_empty() {
            request = request.header("content-type", "application/json").body(body.text);
        }
        let mut foreign = [target.foreign, body.foreign].concat();
        if let Some((name, value)) = header {
            request = request.header(&name, &value.text);
            foreign.extend(value.foreign);
        }
        match tokio::time::timeout(PATIENCE, request.send()).await {
            Ok(Ok(answer)) => Ok(Exchange { answer, foreign }),
            Ok(Err(error)) => Err(format!("no answer: {error:?}")),
            Err(_) => Err(format!("no answer within {PATIENCE:?}")),
        }
    }

    /// Returns every record of the victim, as its owner reads it: the request and the answer.
    pub async fn as_the_owner_sees_it(&self) -> Vec<(String, Value)> {
        let (client, token): (Client, _) = (self.service.deref().clone(), self.victim.value("token"));
        let mut views = Vec::new();
        for line in OWNERS_VIEW.lines() {
            let line = fill(line, |_, name| self.victim.value(name)).text;
            let (request, body) = line.split_once(" | ").unwrap_or((&line, ""));
            let (method, path) = request.split_once(' ').unwrap();
            let mut request = client.request(method.parse().unwrap(), path).token(&token);
            if !body.is_empty() {
                request = request.header("content-type", "application/json").body(body);
            }
            let answer = request.await;
            let body = super::verdict::lasting(&answer.body);
            views.push((line.clone(), json!({ "status": answer.status, "body": body })));
        }
        views
    }
}

/// Returns a value of the same shape that no record has.
fn never_was(value: &str) -> String {
    let end = value.len() - 8;
    format!("{}{:08x}", &value[..end], rand::random::<u32>())
}
