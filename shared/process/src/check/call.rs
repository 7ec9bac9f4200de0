//! Checks calls and their authentication.

use platform::outbound::is_refused_header;

use super::Checker;
use super::reader::Fields;
use crate::definition::{
    Authentication, Credential, Endpoint, FunctionCall, HttpCall, HttpOutput, OpenApiCall, Template, Uri,
    Work,
};
use crate::expression::enclosed;
use crate::fault::Place;
use crate::flow::uri;
use crate::source::Tree;

const OUTPUTS: [(&str, HttpOutput); 3] = [
    ("raw", HttpOutput::Raw),
    ("content", HttpOutput::Content),
    ("response", HttpOutput::Response),
];
/// Functions of the specification that are not supported.
const REFUSED: [&str; 4] = ["a2a", "asyncapi", "grpc", "mcp"];

impl Checker {
    pub(super) fn call(&mut self, at: &Place, tree: &Tree, task: &mut Fields<'_>) -> Option<Work> {
        let name = self.text(at, tree)?;
        match name {
            "http" => {
                let (at, tree) = self.required(task, "with")?;
                self.http(&at, tree).map(|call| Work::Http(Box::new(call)))
            }
            "openapi" => {
                let (at, tree) = self.required(task, "with")?;
                self.openapi(&at, tree).map(|call| Work::OpenApi(Box::new(call)))
            }
            _ if self.functions.contains(name) => {
                self.calls.push((name.to_owned(), at.clone()));
                let with = self.optional_object_template(task.take("with"));
                let name = name.to_owned();
                Some(Work::Function(FunctionCall { name, with }))
            }
            _ => {
                task.take("with");
                if REFUSED.contains(&name) {
                    return self.refuse(
                        at,
                        format!("A process makes no {name} calls here; use http or openapi."),
                    );
                }
                self.refuse(
                    at,
                    format!(
                        "Unknown function '{name}'; known are http, openapi and those of 'use.functions'."
                    ),
                )
            }
        }
    }

    fn http(&mut self, at: &Place, tree: &Tree) -> Option<HttpCall> {
        let mut fields = self.fields(at, tree, "'with'")?;
        let method = self.required(&mut fields, "method");
        let method = method.and_then(|(at, tree)| self.method(&at, tree));
        let endpoint = self.required(&mut fields, "endpoint");
        let endpoint = endpoint.and_then(|(at, tree)| self.endpoint(&at, tree));
        let headers = self.headers(fields.take("headers"));
        let query = self.optional_object_template(fields.take("query"));
        let body = self.optional_template(fields.take("body"));
        let output = self.choice(fields.take("output"), &OUTPUTS).unwrap_or_default();
        let redirect = self.boolean(fields.take("redirect"), false);
        self.done(&fields, "'with' of an http call");
        Some(HttpCall {
            method: method?,
            endpoint: endpoint?,
            headers,
            query,
            body,
            output,
            redirect,
        })
    }

    /// Reads the headers of a call. Names that an expression computes are checked when the call is made.
    fn headers(&mut self, taken: Option<(Place, &Tree)>) -> Option<Template> {
        let (at, tree) = taken?;
        if let Tree::Object(entries) = tree {
            for (name, _) in entries.iter().filter(|(name, _)| is_refused_header(name)) {
                self.report(
                    &at.field(name),
                    format!("A call sets no header '{name}': only a browser, a proxy or the connection does; remove it."),
                );
            }
        }
        self.object_template(&at, tree)
    }

    fn method(&mut self, at: &Place, tree: &Tree) -> Option<Template> {
        let text = self.text(at, tree)?;
        let is_token = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic());
        if !is_token && enclosed(text).is_none() {
            return self.refuse(
                at,
                format!("The method '{text}' is none of HTTP; write one such as GET."),
            );
        }
        self.template(at, tree)
    }

    fn openapi(&mut self, at: &Place, tree: &Tree) -> Option<OpenApiCall> {
        let mut fields = self.fields(at, tree, "'with'")?;
        let document = self.required(&mut fields, "document");
        let document = document.and_then(|(at, tree)| self.resource(&at, tree));
        let operation = self.required(&mut fields, "operationId");
        let operation = operation.and_then(|(at, tree)| self.text(&at, tree));
        let parameters = self.optional_object_template(fields.take("parameters"));
        let authentication = fields.take("authentication");
        let authentication = authentication.and_then(|(at, tree)| self.authentication(&at, tree));
        let output = self.choice(fields.take("output"), &OUTPUTS).unwrap_or_default();
        let redirect = self.boolean(fields.take("redirect"), false);
        self.done(&fields, "'with' of an openapi call");
        Some(OpenApiCall {
            document: document?,
            operation_id: operation?.to_owned(),
            parameters,
            authentication,
            output,
            redirect,
        })
    }

    /// Reads an external resource.
    fn resource(&mut self, at: &Place, tree: &Tree) -> Option<Endpoint> {
        let mut fields = self.fields(at, tree, "a document")?;
        if let Some((at, tree)) = fields.take("name") {
            self.text(&at, tree);
        }
        let endpoint = self.required(&mut fields, "endpoint");
        self.done(&fields, "a document");
        endpoint.and_then(|(at, tree)| self.endpoint(&at, tree))
    }

    fn endpoint(&mut self, at: &Place, tree: &Tree) -> Option<Endpoint> {
        if let Tree::Text(_) = tree {
            let uri = self.uri(at, tree)?;
            let authentication = None;
            return Some(Endpoint { uri, authentication });
        }
        let mut fields = self.fields(at, tree, "an endpoint")?;
        let uri = self.required(&mut fields, "uri");
        let uri = uri.and_then(|(at, tree)| self.uri(&at, tree));
        let authentication = fields.take("authentication");
        let authentication = authentication.and_then(|(at, tree)| self.authentication(&at, tree));
        self.done(&fields, "an endpoint");
        Some(Endpoint {
            uri: uri?,
            authentication,
        })
    }

    fn uri(&mut self, at: &Place, tree: &Tree) -> Option<Uri> {
        let text = self.text(at, tree)?;
        if enclosed(text).is_some() {
            return self.expression(at, tree).map(Uri::Computed);
        }
        if let Err(message) = uri::check(text) {
            return self.refuse(at, message);
        }
        let is_web = ["http://", "https://", "{"]
            .iter()
            .any(|begin| text.starts_with(begin));
        if !is_web {
            return self.refuse(at, format!("The address '{text}' does not begin with https://."));
        }
        Some(Uri::Template(text.to_owned()))
    }

    /// Reads an authentication where it is used: an object, or a name from `use.authentications`.
    fn authentication(&mut self, at: &Place, tree: &Tree) -> Option<Authentication> {
        let (at, name) = match tree {
            Tree::Text(name) => (at.clone(), name),
            Tree::Object(entries) => match entries.as_slice() {
                [(field, Tree::Text(name))] if field == "use" => (at.field("use"), name),
                _ => return self.authentication_object(at, tree),
            },
            _ => return self.authentication_object(at, tree),
        };
        match self.authentications.get(name) {
            Some(authentication) => authentication.clone(),
            None => self.unknown_name(&at, "authentication", name, "authentications"),
        }
    }

    pub(super) fn authentication_object(&mut self, at: &Place, tree: &Tree) -> Option<Authentication> {
        let (scheme, at, tree) = self.named(at, tree, "an authentication")?;
        match scheme {
            "basic" => self
                .credential(&at, tree, Some("username"), "password")
                .map(Authentication::Basic),
            "bearer" => self
                .credential(&at, tree, None, "token")
                .map(Authentication::Bearer),
            "certificate" | "digest" | "oauth2" | "oidc" => self.refuse(
                &at,
                format!("The scheme '{scheme}' is not supported here; use basic or bearer."),
            ),
            _ => self.refuse(
                &at,
                format!("Unknown scheme '{scheme}'; known are: basic, bearer."),
            ),
        }
    }

    fn credential(
        &mut self,
        at: &Place,
        tree: &Tree,
        username: Option<&'static str>,
        secret: &'static str,
    ) -> Option<Credential> {
        let mut fields = self.fields(at, tree, "the authentication")?;
        if let Some((at, tree)) = fields.take("use") {
            self.done(&fields, "an authentication by secret");
            let name = self.text(&at, tree)?;
            if !self.secrets.iter().any(|secret| secret == name) {
                return self.unknown_name(&at, "secret", name, "secrets");
            }
            return Some(Credential::Secret(name.to_owned()));
        }
        let username = username.map(|name| {
            let (at, tree) = self.required(&mut fields, name)?;
            self.text_template(&at, tree)
        });
        let secret = self.required(&mut fields, secret);
        let secret = secret.and_then(|(at, tree)| self.text_template(&at, tree));
        self.done(&fields, "the authentication");
        Some(Credential::Values {
            username: match username {
                None => None,
                Some(username) => Some(username?),
            },
            secret: secret?,
        })
    }
}
