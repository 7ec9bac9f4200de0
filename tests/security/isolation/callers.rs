//! Defines the callers that request foreign data.
//!
//! | letter | caller |
//! |---|---|
//! | P | a developer of another project of the account |
//! | A | a developer of another account, whose project has the same name |
//! | K | an API key of the project of P |
//! | D | an administrator of the account, with a token of the project of P |
//! | S | an administrator of the account of A, with a token of its project of the same name |
//! | W | an administrator of the account, with a token that names no project |
//! | C | an executor of the victim's own project, who is another caller all the same |

use std::sync::Arc;

use tests::{Persona, Scope};

use super::household::Household;

/// Caller, and its own data.
#[derive(Clone)]
pub struct Caller {
    pub letter: char,
    /// An access token or an API key.
    pub credentials: String,
    pub reference: String,
    pub household: Arc<Household>,
}

impl Caller {
    /// True if the token names no project, so that the caller cannot request anything of a project.
    pub fn has_no_project(&self) -> bool {
        self.letter == 'W'
    }
}

/// Returns all callers. `scope` is the victim's.
pub fn all(
    scope: &Scope,
    victim: &Arc<Household>,
    next: &Arc<Household>,
    other: &Arc<Household>,
) -> Vec<Caller> {
    let admin = |household: &Household, user: &str| {
        let arguments = ["--user-id", user, "--roles", "account_admin"];
        household.scope.token_with(&arguments)
    };
    let caller = |letter, credentials, reference: &str, household: &Arc<Household>| Caller {
        letter,
        credentials,
        reference: reference.to_owned(),
        household: Arc::clone(household),
    };
    let colleague = scope.token_with(&["--user-id", "colleague", "--roles", "executor"]);
    let key = format!("apikey:{}", next.value("key"));
    vec![
        caller('P', next.value("token"), &next.reference(), next),
        caller('A', other.value("token"), &other.reference(), other),
        caller('K', next.value("key_secret"), &key, next),
        caller('D', admin(next, "next-door"), "user:next-door", next),
        caller('S', admin(other, "stranger"), "user:stranger", other),
        caller(
            'W',
            scope.token(Persona::WholeAccount),
            "user:account-admin",
            next,
        ),
        caller('C', colleague, "user:colleague", victim),
    ]
}
