//! Implements `call: openapi`: finds the operation in its document and builds the request that it describes.

use process::Data;
use process::definition::OpenApiCall;
use process::flow;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;
use workflow::{ActivityContext, ActivityType, Failure};

use super::authentication::Authentication;
use super::error::{CallError, Ended, ErrorKind};
use super::http::uri;
use super::keyring::Keyring;
use super::output::{Output, output};
use super::part::Part;
use super::request::{self, Request};
use super::result::{Called, called};
use crate::process::definitions::Origin;
use crate::process::execution::Process;
use crate::process::fault::Fault;
use crate::process::frame::View;
use crate::process::services::ProcessServices;

pub const OPENAPI_CALL: ActivityType<OpenApiInput, Called> = ActivityType::new("process_openapi_call");

/// Methods that an item of `paths` may have.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];
/// Name of the parameter that holds the body of the request.
const BODY: &str = "body";
/// Maximum length of a chain of references.
const MAX_REFERENCES: usize = 16;

#[derive(Debug, Serialize, Deserialize)]
pub struct OpenApiInput {
    pub document: Part,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_authentication: Option<Authentication>,
    pub operation_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Part>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<Authentication>,
    pub output: Output,
    pub redirect: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl OpenApiInput {
    /// Evaluates the parts of the call that contain no secrets.
    pub async fn evaluate(
        process: &Process,
        view: &View<'_>,
        call: &OpenApiCall,
        dot: &Data,
    ) -> Result<Self, Fault> {
        let document = &call.document;
        Ok(Self {
            document: uri(process, view, &document.uri, dot).await?,
            document_authentication: Authentication::evaluate(
                process,
                view,
                dot,
                document.authentication.as_ref(),
            )
            .await?,
            operation_id: call.operation_id.clone(),
            parameters: Part::optional(process, view, dot, call.parameters.as_ref()).await?,
            authentication: Authentication::evaluate(process, view, dot, call.authentication.as_ref())
                .await?,
            output: call.output.into(),
            redirect: call.redirect,
            origin: process.origin.clone(),
        })
    }
}

pub async fn activity(
    services: ProcessServices,
    context: ActivityContext,
    input: OpenApiInput,
) -> Result<Called, Failure> {
    let mut keyring = Keyring::new(&services, &context.tenant, input.origin.as_ref());
    let result = call(&mut keyring, &input).await;
    called(result, &keyring).await
}

async fn call(keyring: &mut Keyring<'_>, input: &OpenApiInput) -> Result<Data, Ended> {
    let address = request::address(&input.document, keyring).await?;
    let mut request = Request::new("GET", &address)?;
    request.hides_address = !input.document.is_plain();
    if let Some(authentication) = &input.document_authentication {
        request.authorize(authentication.header(keyring).await?);
    }
    let fetched = request.send(keyring, false).await?;
    keyring.next_request();
    let document = document(&fetched.body)?;
    let parameters = match &input.parameters {
        Some(parameters) => parameters.resolve(keyring).await?,
        None => Data::null(),
    };
    let is_plain = input.parameters.as_ref().is_none_or(Part::is_plain);
    let mut request = operation(&document, &address, &input.operation_id, &parameters, is_plain)?;
    // The servers of a document may be relative to its address.
    request.hides_address |= !input.document.is_plain();
    if let Some(authentication) = &input.authentication {
        request.authorize(authentication.header(keyring).await?);
    }
    let response = request.send(keyring, input.redirect).await?;
    Ok(output(input.output, &request, &response))
}

fn configuration(detail: impl Into<String>) -> CallError {
    CallError::new(ErrorKind::Configuration, detail)
}

fn document(body: &[u8]) -> Result<Value, CallError> {
    let text = std::str::from_utf8(body).ok();
    let document = text.and_then(|text| Data::of_document(text).ok());
    let document = document.map(|document| document.to_value());
    let is_openapi = |document: &Value| document.get("openapi").or(document.get("swagger")).is_some();
    document
        .filter(is_openapi)
        .ok_or_else(|| configuration("The document of the call is not an OpenAPI document."))
}

/// Builds the request of an operation.
fn operation(
    document: &Value,
    address: &str,
    operation_id: &str,
    parameters: &Data,
    is_plain: bool,
) -> Result<Request, CallError> {
    let unknown = || configuration(format!("The OpenAPI document has no operation '{operation_id}'."));
    let paths = document
        .get("paths")
        .and_then(Value::as_object)
        .ok_or_else(unknown)?;
    let is_named =
        |operation: &Value| operation.get("operationId").and_then(Value::as_str) == Some(operation_id);
    let found = paths.iter().find_map(|(path, item)| {
        let item = resolved(document, item)?;
        let found = METHODS.iter().find_map(|method| {
            let operation = item.get(*method).filter(|operation| is_named(operation))?;
            Some((*method, operation))
        });
        found.map(|(method, operation)| (path, item, method, operation))
    });
    let (path, item, method, operation) = found.ok_or_else(unknown)?;
    let mut given = match parameters.to_value() {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let mut target = Target {
        path: Vec::new(),
        query: Map::new(),
        headers: Map::new(),
    };
    let mut body = None;
    let lists = [operation.get("parameters"), item.get("parameters")];
    let declared = lists.into_iter().flatten().filter_map(Value::as_array).flatten();
    for parameter in declared.filter_map(|parameter| resolved(document, parameter)) {
        let text = |field: &str| parameter.get(field).and_then(Value::as_str).unwrap_or_default();
        let (name, place) = (text("name"), text("in"));
        match given.remove(name) {
            Some(value) if place == "body" => body = Some(Data::from(value)),
            Some(value) => target.set(place, name, value)?,
            None if is_missing(parameter) && !target.has(place, name) => {
                return Err(configuration(format!(
                    "The operation '{operation_id}' needs the parameter '{name}'."
                )));
            }
            None => {}
        }
    }
    if body.is_none() && given.contains_key(BODY) {
        // The body is read from the raw data, so that numbers keep all their digits.
        body = parameters.field(BODY);
        given.remove(BODY);
    }
    if let Some(name) = given.keys().next() {
        return Err(configuration(format!(
            "The operation '{operation_id}' has no parameter '{name}'."
        )));
    }
    let server = server(document, operation, item, address)?;
    let path = flow::expand_path(path, &Data::object(target.path));
    let path = path.map_err(|message| CallError::new(ErrorKind::Expression, message))?;
    let mut request = Request::new(method, &format!("{server}{path}"))?;
    request.hides_address = !is_plain;
    request.add_query(&Data::from(Value::Object(target.query)), is_plain)?;
    request.add_headers(&Data::from(Value::Object(target.headers)), is_plain)?;
    if let Some(body) = &body {
        request.set_body(body)?;
    }
    Ok(request)
}

/// Collects the parameters by their place in the request.
struct Target {
    path: Vec<(String, Data)>,
    query: Map<String, Value>,
    headers: Map<String, Value>,
}

impl Target {
    fn set(&mut self, place: &str, name: &str, value: Value) -> Result<(), CallError> {
        match place {
            "path" => self.path.push((name.to_owned(), Data::from(value))),
            "query" => {
                self.query.insert(name.to_owned(), value);
            }
            "header" => {
                self.headers.insert(name.to_owned(), value);
            }
            "cookie" => {
                return Err(configuration(format!(
                    "The parameter '{name}' is a cookie, which no call sends; remove it."
                )));
            }
            _ => {
                return Err(configuration(format!(
                    "The parameter '{name}' is in '{place}', which is not known."
                )));
            }
        }
        Ok(())
    }

    /// Returns whether a parameter is already set: an operation's own parameters come first and override
    /// those of its path.
    fn has(&self, place: &str, name: &str) -> bool {
        match place {
            "path" => self.path.iter().any(|(other, _)| other == name),
            "query" => self.query.contains_key(name),
            "header" => self.headers.contains_key(name),
            _ => false,
        }
    }
}

fn is_missing(parameter: &Value) -> bool {
    let is_required = parameter.get("required").and_then(Value::as_bool) == Some(true);
    is_required && parameter.get("in").and_then(Value::as_str) != Some("body")
}

/// Follows `$ref` within the document; None where the chain is too long or a target is missing.
fn resolved<'a>(document: &'a Value, mut value: &'a Value) -> Option<&'a Value> {
    for _ in 0..MAX_REFERENCES {
        match value.get("$ref").and_then(Value::as_str) {
            None => return Some(value),
            Some(reference) => value = document.pointer(reference.strip_prefix('#')?)?,
        }
    }
    None
}

/// Returns the base URL of the paths, without a trailing slash.
fn server(document: &Value, operation: &Value, item: &Value, address: &str) -> Result<String, CallError> {
    let base = Url::parse(address).map_err(|_| configuration("The address of the document is not a URL."))?;
    let servers = [operation, item, document].map(|holder| holder.get("servers"));
    let server = servers.into_iter().flatten().find_map(|servers| servers.get(0));
    let written = match server {
        Some(server) => {
            let mut url = server
                .get("url")
                .and_then(Value::as_str)
                .unwrap_or("/")
                .to_owned();
            let variables = server.get("variables").and_then(Value::as_object);
            for (name, variable) in variables.into_iter().flatten() {
                let default = variable
                    .get("default")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                url = url.replace(&format!("{{{name}}}"), default);
            }
            url
        }
        None => of_swagger(document, &base),
    };
    let url = base.join(&written);
    let url = url.map_err(|_| configuration("The server of the OpenAPI document is not a URL."))?;
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Returns the base URL of a document of version 2, which has other fields for it.
fn of_swagger(document: &Value, base: &Url) -> String {
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    let path = text("basePath").unwrap_or("/");
    let schemes = document.get("schemes").and_then(Value::as_array);
    let schemes: Vec<&str> = schemes.into_iter().flatten().filter_map(Value::as_str).collect();
    let scheme = match schemes.as_slice() {
        [] => base.scheme(),
        schemes if schemes.contains(&"https") => "https",
        [scheme, ..] => scheme,
    };
    match text("host") {
        Some(host) => format!("{scheme}://{host}{path}"),
        None => path.to_owned(),
    }
}
