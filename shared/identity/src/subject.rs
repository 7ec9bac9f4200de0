//! Reads the claims of a checked token, as its provider's settings say, into who is calling.

use platform::auth::{Principal, PrincipalKind};
use platform::error::{Error, Result};
use platform::tenant::check_id;
use serde_json::Value;

use crate::claims::{Claims, Found, Source, find, has_one_of, texts};
use crate::settings::Provider;
use crate::times::end_of;

/// Maximum length of a user's id at the provider, in characters (OpenID Connect Core 1.0, 2).
pub const MAX_USER_ID: usize = 255;

/// Bound of a time with a fraction, in seconds since the Unix epoch: beyond the year 9999.
const LATEST_SECONDS: f64 = 1e12;

/// Who a token is about.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Position of the provider.
    pub provider: usize,
    /// User id, with the prefix of its provider.
    pub user: String,
    /// None where only a membership can say it.
    pub account: Option<String>,
    /// None for an account-scoped token, and where only a membership can say it.
    pub project: Option<String>,
    pub tenant: Option<String>,
    pub account_name: Option<String>,
    pub project_name: Option<String>,
    pub roles: Vec<String>,
    pub permissions: Vec<String>,
    /// In seconds since the Unix epoch.
    pub exp: i64,
    /// In seconds since the Unix epoch.
    pub nbf: Option<i64>,
}

impl Subject {
    /// Reads the claims of a token of the provider at a position. 401 with the reason for claims that name
    /// no user.
    pub fn read(claims: &Claims, provider: &Provider, position: usize) -> Result<Self> {
        check_required(claims, provider)?;
        check_audience(claims, provider)?;
        let mut claimed = provider.user.paths.iter();
        if claimed.any(|path| find(claims, path).is_some_and(Value::is_array)) {
            return Err(refused("its user is an array".to_owned()));
        }
        let user = text(&provider.user, claims)?.ok_or_else(|| {
            refused(format!(
                "it has no claim '{}'",
                provider.user.paths.join("' or '")
            ))
        })?;
        check_user(&user).map_err(|error| refused(error.message().to_owned()))?;
        let user = format!("{}{user}", provider.user_prefix);
        check_user(&user).map_err(|error| refused(error.message().to_owned()))?;
        // A user of this provider must not have the id of one of another.
        let mut foreign = provider.foreign_prefixes.iter();
        if let Some(prefix) = foreign.find(|prefix| user.starts_with(*prefix)) {
            return Err(refused(format!(
                "its user id begins with '{prefix}', as those of another provider do"
            )));
        }
        let id = |what: &str, source: &Source| {
            let id = text(source, claims)?;
            if let Some(id) = &id {
                check_id(what, id).map_err(|error| {
                    refused(format!("{} ('{id}')", error.message().trim_end_matches('.')))
                })?;
            }
            Ok::<_, Error>(id)
        };
        let account = id("account", &provider.account)?;
        if account.is_none() && !provider.memberships {
            let claim = provider.account.paths.join("' or '");
            return Err(refused(format!(
                "it has no claim '{claim}', which says the account"
            )));
        }
        Ok(Self {
            provider: position,
            account,
            project: id("project", &provider.project)?,
            tenant: text(&provider.tenant, claims)?,
            // For people: a name of another type is none.
            account_name: text(&provider.account_name, claims).ok().flatten(),
            project_name: text(&provider.project_name, claims).ok().flatten(),
            roles: provider.roles.find(claims).map_err(refused)?,
            permissions: provider.permissions.find(claims).map_err(refused)?,
            exp: seconds(claims, "exp")?.ok_or_else(|| refused("it has no claim 'exp'".to_owned()))?,
            nbf: seconds(claims, "nbf")?,
            user,
        })
    }

    /// Returns the principal of the account and project that the token names itself. None where it names no
    /// account.
    pub fn principal(&self) -> Option<Principal> {
        Some(Principal {
            permissions: Principal::expand(&self.roles, &self.permissions),
            kind: PrincipalKind::User(self.user.clone()),
            account_id: self.account.clone()?,
            project_id: self.project.clone(),
            tenant_id: self.tenant.clone(),
            account_name: self.account_name.clone(),
            project_name: self.project_name.clone(),
            roles: self.roles.clone(),
            valid_until: end_of(self.exp),
        })
    }
}

/// Refuses a user id that cannot be shown: 1 to 255 characters, all of them visible or blanks, and none at
/// the ends a blank.
pub fn check_user(id: &str) -> Result<()> {
    let length = id.chars().count();
    if (1..=MAX_USER_ID).contains(&length) && id.trim() == id && !id.chars().any(is_hidden) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "The user id must be 1 to {MAX_USER_ID} visible characters, without blanks at its ends."
    )))
}

/// Whether a character shows nothing, or changes how others are shown: two ids could look the same.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        )
}

/// 401 for a token that this service refuses.
pub fn refused(reason: String) -> Error {
    Error::unauthenticated(format!("The access token: {}.", reason.trim_end_matches('.')))
}

fn text(source: &Source, claims: &Claims) -> Result<Option<String>> {
    let text = source.find(claims).map_err(refused)?;
    Ok(text.map(|Found { text, .. }| text))
}

/// Checks the claims that must have a value of the settings.
fn check_required(claims: &Claims, provider: &Provider) -> Result<()> {
    for (claim, values) in &provider.required {
        if !has_one_of(claims, claim, values) {
            return Err(refused(format!(
                "its claim '{claim}' does not have a value that this service requires"
            )));
        }
    }
    Ok(())
}

fn check_audience(claims: &Claims, provider: &Provider) -> Result<()> {
    let mut names = provider.audience_claims.iter();
    let is_text = |claim: &String| find(claims, claim).and_then(texts).is_some();
    if names.any(|claim| is_text(claim) && has_one_of(claims, claim, &provider.audiences)) {
        return Ok(());
    }
    Err(Error::unauthenticated(
        "The access token is for another audience.",
    ))
}

/// Returns a time in seconds since the Unix epoch. It may have a fraction (RFC 7519, 2).
#[expect(
    clippy::cast_possible_truncation,
    reason = "a fraction of a second does not count"
)]
fn seconds(claims: &Claims, name: &str) -> Result<Option<i64>> {
    let Some(value) = claims.get(name).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let seconds = match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            let number = number.as_f64().filter(|number| number.abs() < LATEST_SECONDS)?;
            Some(number as i64)
        }),
        _ => None,
    };
    seconds
        .map(Some)
        .ok_or_else(|| refused(format!("its claim '{name}' is not a time in seconds")))
}
