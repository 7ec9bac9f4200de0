//! Answers handshakes.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use events::channel::StoredChannel;
use events::sender::handshake::Handshake;
use events::sender::{Refusal, RefusalReason, source};
use platform::config::Secret;
use platform::sealing::Place;
use platform::{Error, Result};

use crate::certificates::fetch;
use crate::receive::ChannelRequest;
use crate::{credentials, refused};

/// Answers a handshake of a channel, and does what it asks for.
pub(crate) async fn answer(request: &ChannelRequest<'_>, handshake: &Handshake) -> Result<Response> {
    if let Some(place) = &handshake.token
        && let Err(refusal) = credentials::check_token(request, place)
    {
        request.record(refusal).await;
        return Err(refused());
    }
    if handshake.verified {
        request.admit().await?;
    }
    if let Some(place) = &handshake.secret {
        take_secret(request, place).await?;
    }
    if let Some(url) = handshake.address(request.fields) {
        let visit = match url {
            Ok(url) => fetch(&request.ingest.outbound, &url).await.map(drop),
            Err(why) => Err(why),
        };
        if let Err(why) = visit {
            return Err(fail(request, why).await);
        }
    }
    // Opening a secret may take a request to KMS, and anyone can send a handshake.
    let secret = match handshake.answer.has_hmac() {
        true => credentials::secret(request).await?,
        false => None,
    };
    let secret = secret.as_ref().map(Secret::expose);
    let Some(reply) = handshake.answer.fill(request.fields, secret) else {
        return Err(fail(
            request,
            "the request lacks a value of the answer, or the channel a signing secret".to_owned(),
        )
        .await);
    };
    let (kind, body) = reply.body.unzip();
    let mut response = Response::new(Body::from(body.unwrap_or_default()));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
    let headers = response.headers_mut();
    headers.extend(reply.headers.into_iter().map(|(name, value)| (Some(name), value)));
    if let Some(kind) = kind {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        // The body has text of the request: no browser may take it for a page.
        headers.insert(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        );
    }
    Ok(response)
}

/// Records that a handshake was not carried out, and returns its answer.
async fn fail(request: &ChannelRequest<'_>, why: String) -> Error {
    let answer = Error::invalid(format!("The handshake was not carried out: {why}."));
    request
        .record(Refusal::new(RefusalReason::HandshakeFailed, why))
        .await;
    answer
}

/// Takes the secret of later signatures while the channel has none. A handshake that is repeated brings the
/// same one.
async fn take_secret(request: &ChannelRequest<'_>, place: &str) -> Result<()> {
    let Some(secret) = source::find_text(place, request.fields) else {
        return Err(fail(request, format!("there is no secret in '{place}'")).await);
    };
    match credentials::secret(request).await? {
        Some(current) if current.expose() == secret => return Ok(()),
        Some(_) => {
            let why = "the channel has another signing secret already; 'rotate_signing_secret' makes it take a new one";
            return Err(fail(request, why.to_owned()).await);
        }
        None => {}
    }
    let (ingest, tenant, id) = (request.ingest, request.tenant, &request.channel.id);
    let record = ingest.channels.get(tenant, id).await?;
    let mut channel = StoredChannel::from_record(&record)?;
    if channel.signing_secret.is_some() {
        return Err(Error::conflict(
            "Another handshake of the channel is carried out; repeat this one.",
        ));
    }
    let name = StoredChannel::secret_place(id);
    let place = Place { tenant, name: &name };
    channel.signing_secret = Some(ingest.sealer.seal(place, &Secret::new(secret)).await?);
    channel.secret_received_at = Some(request.now);
    let next = channel.record(record.revision + 1)?;
    match ingest
        .channels
        .save(tenant, &next)
        .await?
        .took_effect("a channel")?
    {
        true => Ok(()),
        false => Err(Error::unavailable("the channel is changed by others at once")),
    }
}
