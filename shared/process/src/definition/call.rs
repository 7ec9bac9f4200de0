//! Defines calls.

use super::{Expression, Template};

/// `call: http`.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpCall {
    /// A text such as `GET`, in any case.
    pub method: Template,
    pub endpoint: Endpoint,
    /// An object.
    pub headers: Option<Template>,
    /// An object.
    pub query: Option<Template>,
    pub body: Option<Template>,
    /// Part of the response that becomes the output.
    pub output: HttpOutput,
    /// Whether a status from 300 to 399 is accepted.
    pub redirect: bool,
}

/// An address, with the credentials for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    pub uri: Uri,
    pub authentication: Option<Authentication>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uri {
    /// URI template for [`flow::expand`](crate::flow::expand), whose variables are fields of the task's
    /// input. Its path needs each of them.
    Template(String),
    /// An expression whose value is a text.
    Computed(Expression),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Authentication {
    /// RFC 7617.
    Basic(Credential),
    /// RFC 6750.
    Bearer(Credential),
}

/// Credentials of an authentication.
#[derive(Clone, Debug, PartialEq)]
pub enum Credential {
    /// Name of a secret: an object with `username` and `password` for basic, or with `token` for bearer.
    Secret(String),
    Values {
        /// Only for basic.
        username: Option<Template>,
        /// Password or token.
        secret: Template,
    },
}

/// Part of a response that becomes the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpOutput {
    /// Base64 of the body.
    Raw,
    /// The body, parsed if it is JSON.
    #[default]
    Content,
    /// Request, status, headers and content.
    Response,
}

/// `call: openapi`.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenApiCall {
    /// Address of the OpenAPI document.
    pub document: Endpoint,
    /// Operation in the document.
    pub operation_id: String,
    /// An object.
    pub parameters: Option<Template>,
    /// Credentials for the operation.
    pub authentication: Option<Authentication>,
    /// Part of the response that becomes the output.
    pub output: HttpOutput,
    /// Whether a status from 300 to 399 is accepted.
    pub redirect: bool,
}

/// `call` of a function of `use.functions`.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// A key of [`Definition::functions`](super::Definition::functions).
    pub name: String,
    /// Input of the function's task. Without it, the input of this task.
    pub with: Option<Template>,
}
