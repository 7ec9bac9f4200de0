//! Implements `call: http`: the input that the turn builds, and the activity that makes the call.

use process::Data;
use process::definition::{Expression, HttpCall, Template, Uri};
use process::flow;
use serde::{Deserialize, Serialize};
use workflow::{ActivityContext, ActivityType, Failure};

use super::authentication::Authentication;
use super::error::Ended;
use super::keyring::Keyring;
use super::output::{Output, output};
use super::part::{Part, wrong};
use super::request::{self, Request};
use super::result::{Called, called};
use crate::process::definitions::Origin;
use crate::process::execution::Process;
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::services::ProcessServices;

pub const HTTP_CALL: ActivityType<HttpInput, Called> = ActivityType::new("process_http_call");

#[derive(Debug, Serialize, Deserialize)]
pub struct HttpInput {
    pub method: String,
    pub uri: Part,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<Part>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<Part>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Part>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<Authentication>,
    pub output: Output,
    pub redirect: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl HttpInput {
    /// Evaluates the parts of the call that contain no secrets.
    pub async fn evaluate(
        process: &Process,
        view: &View<'_>,
        call: &HttpCall,
        dot: &Data,
    ) -> Result<Self, Fault> {
        let method = process.fill(view, dot, &call.method).await?;
        let method = method
            .as_text()
            .ok_or_else(|| wrong("The method of the call is not a text.", view))?;
        Ok(Self {
            method,
            uri: uri(process, view, &call.endpoint.uri, dot).await?,
            headers: Part::optional(process, view, dot, call.headers.as_ref()).await?,
            query: Part::optional(process, view, dot, call.query.as_ref()).await?,
            body: Part::optional(process, view, dot, call.body.as_ref()).await?,
            authentication: Authentication::evaluate(
                process,
                view,
                dot,
                call.endpoint.authentication.as_ref(),
            )
            .await?,
            output: call.output.into(),
            redirect: call.redirect,
            origin: process.origin.clone(),
        })
    }
}

/// Evaluates an address, except where it contains secrets.
pub(super) async fn uri(process: &Process, view: &View<'_>, uri: &Uri, dot: &Data) -> Result<Part, Fault> {
    match uri {
        Uri::Template(template) => {
            let address = flow::expand(template, dot);
            let address = address.map_err(|message| wrong(message, view))?;
            Ok(Part::text(&address))
        }
        Uri::Computed(expression) => {
            let expression: Expression = expression.clone();
            Part::evaluate(process, view, dot, &Template::Expression(expression)).await
        }
    }
}

pub async fn activity(
    services: ProcessServices,
    context: ActivityContext,
    input: HttpInput,
) -> Result<Called, Failure> {
    let mut keyring = Keyring::new(&services, &context.tenant, input.origin.as_ref());
    let result = call(&mut keyring, &input).await;
    called(result, &keyring).await
}

async fn call(keyring: &mut Keyring<'_>, input: &HttpInput) -> Result<Data, Ended> {
    let mut request = Request::new(&input.method, &request::address(&input.uri, keyring).await?)?;
    request.hides_address = !input.uri.is_plain();
    if let Some(query) = &input.query {
        let value = query.resolve(keyring).await?;
        request.add_query(&value, query.is_plain())?;
    }
    if let Some(headers) = &input.headers {
        let value = headers.resolve(keyring).await?;
        request.add_headers(&value, headers.is_plain())?;
    }
    if let Some(body) = &input.body {
        request.set_body(&body.resolve(keyring).await?)?;
    }
    if let Some(authentication) = &input.authentication {
        request.authorize(authentication.header(keyring).await?);
    }
    let response = request.send(keyring, input.redirect).await?;
    Ok(output(input.output, &request, &response))
}
