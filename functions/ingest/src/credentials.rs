//! Checks the credentials of a request to a channel.
//!
//! A missing channel is checked like any other, against a token that no caller has and with signatures that
//! are computed in vain, so that timing does not reveal which channels exist. Two cases take longer: the
//! first request that an instance gets for a signed channel, because it opens the channel's secret, and one
//! whose sender signs with another scheme than HMAC.

use events::channel::StoredChannel;
use events::sender::signature::SignatureRule;
use events::sender::verify::{Key, waste};
use events::sender::{Fields, Refusal, RefusalReason, source};
use http::header;
use platform::config::Secret;
use platform::sealing::Place;
use platform::secrets::secret_hash;
use platform::{Error, Result, Tenant, UtcTime};
use subtle::ConstantTimeEq as _;

use crate::Ingest;

/// Header for a token, besides `Authorization`.
const TOKEN_HEADER: &str = "x-service-ingest-token";
/// Hash that no token has.
const NO_TOKEN: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Why a request is not admitted: the fault of the request, or of this service.
pub enum NotAdmitted {
    Refused(Refusal),
    Failed(Error),
}

impl From<Refusal> for NotAdmitted {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Error> for NotAdmitted {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Takes as long as the check of a channel, and admits nothing.
pub fn check_nothing(fields: Fields<'_>) {
    is_token(std::iter::once(NO_TOKEN), &tokens(None, fields));
    waste(fields.request.body);
}

/// Checks a request to a channel.
pub async fn check(
    ingest: &Ingest,
    tenant: &Tenant,
    channel: &StoredChannel,
    fields: Fields<'_>,
    now: UtcTime,
) -> Result<(), NotAdmitted> {
    let tokens = tokens(Some(channel), fields);
    let has_token = is_token(channel.token_hashes(now), &tokens);
    match &channel.signature {
        Some(rule) => {
            // A signed request needs no token, but a wrong token is refused.
            let is_wrong = !has_token && tokens.iter().any(|token| token.is_own);
            verify(ingest, tenant, channel, rule, fields, now).await?;
            match (is_wrong, rule.token_too && !has_token) {
                (true, _) => Err(wrong_token(channel).into()),
                (false, true) => {
                    Err(Refusal::new(RefusalReason::TokenMissing, expected_token(channel)).into())
                }
                (false, false) => Ok(()),
            }
        }
        None => {
            waste(fields.request.body);
            match (has_token, tokens.is_empty()) {
                (true, _) => Ok(()),
                (false, true) => {
                    Err(Refusal::new(RefusalReason::TokenMissing, expected_token(channel)).into())
                }
                (false, false) => Err(wrong_token(channel).into()),
            }
        }
    }
}

/// Checks the token of a handshake.
pub fn check_token(
    channel: &StoredChannel,
    place: &str,
    fields: Fields<'_>,
    now: UtcTime,
) -> Result<(), Refusal> {
    let Some(text) = source::find_text(place, fields) else {
        return Err(Refusal::new(
            RefusalReason::TokenMissing,
            format!("expected the channel's token in '{place}'"),
        ));
    };
    match is_token(channel.token_hashes(now), &[Token { text, is_own: true }]) {
        true => Ok(()),
        false => Err(Refusal::new(
            RefusalReason::TokenWrong,
            format!(
                "the token in '{place}' is not the channel's, which ends in '{}'",
                channel.token_hint
            ),
        )),
    }
}

async fn verify(
    ingest: &Ingest,
    tenant: &Tenant,
    channel: &StoredChannel,
    rule: &SignatureRule,
    fields: Fields<'_>,
    now: UtcTime,
) -> Result<(), NotAdmitted> {
    let key = match &rule.certificate {
        None => None,
        Some(certificate) => Some(ingest.certificates.key(&certificate.address(fields)?).await?),
    };
    if !rule.needs_secret() {
        let key = key.as_deref().map_or(Key::Secret(""), |key| Key::Public(key, ""));
        return Ok(rule.verify(key, fields, now)?);
    }
    let mut last = Refusal::new(
        RefusalReason::SecretMissing,
        "the channel has no signing secret yet; set 'signing_secret' to the one that the sender shows",
    );
    for secret in secrets(ingest, tenant, channel, now).await? {
        let secret = secret.expose();
        let key = key
            .as_deref()
            .map_or(Key::Secret(secret), |key| Key::Public(key, secret));
        match rule.verify(key, fields, now) {
            Ok(()) => return Ok(()),
            Err(refusal) => last = refusal,
        }
    }
    Err(last.into())
}

/// Opens the secrets that count at a time, the current one first.
pub async fn secrets(
    ingest: &Ingest,
    tenant: &Tenant,
    channel: &StoredChannel,
    now: UtcTime,
) -> Result<Vec<Secret>> {
    let name = StoredChannel::secret_place(&channel.id);
    let place = Place { tenant, name: &name };
    let mut secrets = Vec::new();
    for sealed in channel.sealed_secrets(now) {
        secrets.push(ingest.sealer.open(place, sealed).await?);
    }
    Ok(secrets)
}

/// A token of a request.
struct Token {
    text: String,
    /// Whether it can be nothing but a token of a channel.
    is_own: bool,
}

/// Reads the tokens of a request: from the bearer header, the password of Basic, its own header, the query,
/// and where the channel says. A sender may use `Authorization` for something else.
fn tokens(channel: Option<&StoredChannel>, fields: Fields<'_>) -> Vec<Token> {
    let request = fields.request;
    let authorization = request
        .header(header::AUTHORIZATION.as_str())
        .and_then(|value| value.split_once(' '));
    let by = |scheme: &str| {
        let (own, text) = authorization?;
        own.eq_ignore_ascii_case(scheme).then(|| text.trim())
    };
    let query = request.query("token");
    let own = |name: &str| request.header(name).map(str::to_owned);
    let has_own = channel.is_some_and(|channel| channel.preset.is_some());
    let token = |text: Option<String>, is_own| {
        let text = text.filter(|text| !text.is_empty())?;
        Some(Token { text, is_own })
    };
    let placed = channel.and_then(|channel| own(channel.token_header.as_deref()?));
    let in_body = channel.and_then(|channel| source::find_text(channel.token_path.as_deref()?, fields));
    let usual = [
        token(by("bearer").map(str::to_owned), !has_own),
        token(own(TOKEN_HEADER), true),
        token(query, !has_own),
        token(by("basic").and_then(password), false),
    ];
    // The first one counts, unless the sender may use it for something else.
    let most = if has_own { usual.len() } else { 1 };
    let usual = usual.into_iter().flatten().take(most);
    let own = [token(placed, true), token(in_body, true)].into_iter().flatten();
    usual.chain(own).collect()
}

fn password(text: &str) -> Option<String> {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
    let text = String::from_utf8(text).ok()?;
    let (_, password) = text.split_once(':')?;
    Some(password.to_owned())
}

fn is_token<'h>(hashes: impl Iterator<Item = &'h str>, tokens: &[Token]) -> bool {
    let sent: Vec<_> = match tokens {
        [] => vec![secret_hash("")],
        tokens => tokens.iter().map(|token| secret_hash(&token.text)).collect(),
    };
    let mut is_token = false;
    for hash in hashes {
        for sent in &sent {
            is_token |= bool::from(sent.as_bytes().ct_eq(hash.as_bytes()));
        }
    }
    is_token
}

fn expected_token(channel: &StoredChannel) -> String {
    let place = match (&channel.token_header, &channel.token_path) {
        (Some(header), _) => format!("the header '{header}'"),
        (None, Some(path)) => format!("the field '{path}' of the body"),
        (None, None) => {
            "'Authorization: Bearer', the header 'x-service-ingest-token' or the query parameter 'token'"
                .to_owned()
        }
    };
    format!(
        "expected the channel's token, which ends in '{}', in {place}",
        channel.token_hint
    )
}

fn wrong_token(channel: &StoredChannel) -> Refusal {
    Refusal::new(RefusalReason::TokenWrong, expected_token(channel))
}
