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
use platform::{Error, Result};
use subtle::ConstantTimeEq as _;

use crate::receive::ChannelRequest;

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

/// Does the work of [`check`] where the channel is missing: a faster response would reveal that.
pub fn check_nothing(fields: Fields<'_>) {
    is_token(std::iter::once(NO_TOKEN), &tokens(None, fields));
    waste(fields.request.body);
}

pub(crate) async fn check(request: &ChannelRequest<'_>) -> Result<(), NotAdmitted> {
    let (channel, fields) = (request.channel, request.fields);
    let tokens = tokens(Some(channel), fields);
    let has_token = is_token(channel.token_hashes(request.now), &tokens);
    match &channel.signature {
        Some(rule) => {
            // A signed request needs no token, but a wrong token is refused.
            let has_wrong_token = !has_token && tokens.iter().any(|token| token.is_for_channel);
            verify(request, rule).await?;
            match (has_wrong_token, rule.token_too && !has_token) {
                (true, _) => Err(wrong_token(channel).into()),
                (false, true) => Err(missing_token(channel).into()),
                (false, false) => Ok(()),
            }
        }
        None => {
            waste(fields.request.body);
            match (has_token, tokens.is_empty()) {
                (true, _) => Ok(()),
                (false, true) => Err(missing_token(channel).into()),
                (false, false) => Err(wrong_token(channel).into()),
            }
        }
    }
}

/// Checks the token of a handshake, which is at `place`.
pub(crate) fn check_token(request: &ChannelRequest<'_>, place: &str) -> Result<(), Refusal> {
    let channel = request.channel;
    let Some(text) = source::find_text(place, request.fields) else {
        return Err(Refusal::new(
            RefusalReason::TokenMissing,
            format!("expected the channel's token in '{place}'"),
        ));
    };
    let token = Token {
        text,
        is_for_channel: true,
    };
    match is_token(channel.token_hashes(request.now), &[token]) {
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

async fn verify(request: &ChannelRequest<'_>, rule: &SignatureRule) -> Result<(), NotAdmitted> {
    let (fields, now) = (request.fields, request.now);
    let key = match &rule.certificate {
        None => None,
        Some(certificate) => {
            let url = certificate.address(fields)?;
            Some(request.ingest.certificates.key(&url).await?)
        }
    };
    if !rule.needs_secret() {
        let key = key.as_deref().map_or(Key::Secret(""), |key| Key::Public(key, ""));
        return Ok(rule.verify(key, fields, now)?);
    }
    let mut last = Refusal::new(
        RefusalReason::SecretMissing,
        "the channel has no signing secret yet; set 'signing_secret' to the one that the sender shows",
    );
    for secret in secrets(request).await? {
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

/// Opens the secrets that count at the time of the request, the current one first.
async fn secrets(request: &ChannelRequest<'_>) -> Result<Vec<Secret>> {
    let mut secrets = Vec::new();
    for sealed in request.channel.sealed_secrets(request.now) {
        secrets.push(open(request, sealed).await?);
    }
    Ok(secrets)
}

/// Opens the first of [`secrets`]; None for a channel without one.
pub(crate) async fn secret(request: &ChannelRequest<'_>) -> Result<Option<Secret>> {
    match request.channel.sealed_secrets(request.now).next() {
        None => Ok(None),
        Some(sealed) => open(request, sealed).await.map(Some),
    }
}

async fn open(request: &ChannelRequest<'_>, sealed: &str) -> Result<Secret> {
    let name = StoredChannel::secret_place(&request.channel.id);
    let place = Place {
        tenant: request.tenant,
        name: &name,
    };
    request.ingest.sealer.open(place, sealed).await
}

struct Token {
    text: String,
    /// Whether its place holds nothing but the channel's token, so that a wrong one is a fault.
    is_for_channel: bool,
}

/// Reads the tokens of a request: from the bearer header, the password of Basic, the service's header, the
/// query, and where the channel says. A known sender may use `Authorization` and the query for its own
/// purposes.
fn tokens(channel: Option<&StoredChannel>, fields: Fields<'_>) -> Vec<Token> {
    let request = fields.request;
    let authorization = request
        .header(header::AUTHORIZATION.as_str())
        .and_then(|value| value.split_once(' '));
    let credentials = |scheme: &str| {
        let (name, text) = authorization?;
        name.eq_ignore_ascii_case(scheme).then(|| text.trim())
    };
    let header = |name: &str| request.header(name).map(str::to_owned);
    let has_preset = channel.is_some_and(|channel| channel.preset.is_some());
    let token = |text: Option<String>, is_for_channel| {
        let text = text.filter(|text| !text.is_empty())?;
        Some(Token { text, is_for_channel })
    };
    let from_header = channel.and_then(|channel| header(channel.token_header.as_deref()?));
    let from_body = channel.and_then(|channel| source::find_text(channel.token_path.as_deref()?, fields));
    let general = [
        token(credentials("bearer").map(str::to_owned), !has_preset),
        token(header(TOKEN_HEADER), true),
        token(request.query("token"), !has_preset),
        token(credentials("basic").and_then(password), false),
    ];
    // Only the first counts, unless the sender may use its place for its own purposes.
    let most = if has_preset { general.len() } else { 1 };
    let general = general.into_iter().flatten().take(most);
    let by_setting = [token(from_header, true), token(from_body, true)];
    general.chain(by_setting.into_iter().flatten()).collect()
}

fn password(text: &str) -> Option<String> {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
    let text = String::from_utf8(text).ok()?;
    let (_, password) = text.split_once(':')?;
    Some(password.to_owned())
}

fn is_token<'h>(hashes: impl Iterator<Item = &'h str>, tokens: &[Token]) -> bool {
    let token_hashes: Vec<_> = match tokens {
        [] => vec![secret_hash("")],
        tokens => tokens.iter().map(|token| secret_hash(&token.text)).collect(),
    };
    let mut is_token = false;
    for hash in hashes {
        for token_hash in &token_hashes {
            is_token |= bool::from(token_hash.as_bytes().ct_eq(hash.as_bytes()));
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

fn missing_token(channel: &StoredChannel) -> Refusal {
    Refusal::new(RefusalReason::TokenMissing, expected_token(channel))
}

fn wrong_token(channel: &StoredChannel) -> Refusal {
    Refusal::new(RefusalReason::TokenWrong, expected_token(channel))
}
