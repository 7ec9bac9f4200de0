//! Calls.

use super::{Expression, Template};

/// `call: http`.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpCall {
    /// A text such as `GET`, in any case.
    pub method: Template,
    /// Where to.
    pub endpoint: Endpoint,
    /// An object.
    pub headers: Option<Template>,
    /// An object.
    pub query: Option<Template>,
    /// Any value.
    pub body: Option<Template>,
    /// How much of the response is read.
    pub output: HttpOutput,
    /// Whether a status from 300 to 399 is no error.
    pub redirect: bool,
}

/// An address, and what to prove there.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// The address.
    pub uri: Uri,
    /// Credentials.
    pub authentication: Option<Authentication>,
}

/// An address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uri {
    /// A URI template for [`flow::expand`](crate::flow::expand), whose variables are fields of the task's
    /// input.
    Template(String),
    /// An expression whose value is a text.
    Computed(Expression),
}

/// How to authenticate.
#[derive(Clone, Debug, PartialEq)]
pub enum Authentication {
    /// RFC 7617.
    Basic(Credential),
    /// RFC 6750.
    Bearer(Credential),
}

/// What to authenticate with.
#[derive(Clone, Debug, PartialEq)]
pub enum Credential {
    /// Name of a secret: for basic an object with `username` and `password`, for bearer one with `token`.
    Secret(String),
    /// Texts; the first is for basic alone.
    Values {
        /// Of basic.
        username: Option<Template>,
        /// Password or token.
        secret: Template,
    },
}

/// How much of a response is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpOutput {
    /// Base64 of the body.
    Raw,
    /// The body, parsed where it is JSON.
    #[default]
    Content,
    /// Request, status, headers and content.
    Response,
}

/// `call: openapi`.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenApiCall {
    /// Where the OpenAPI document is.
    pub document: Endpoint,
    /// Operation in it.
    pub operation_id: String,
    /// An object.
    pub parameters: Option<Template>,
    /// Credentials for the operation.
    pub authentication: Option<Authentication>,
    /// How much of the response is read.
    pub output: HttpOutput,
    /// Whether a status from 300 to 399 is no error.
    pub redirect: bool,
}

/// `call` of a function of `use.functions`.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// A key of [`Definition::functions`](super::Definition::functions).
    pub name: String,
    /// The input of the function's task. Without it, the task's own.
    pub with: Option<Template>,
}
