//! Defines error objects (RFC 7807), and which of them a `catch` handles.

use crate::data::Data;
use crate::expression::ExpressionFailure;
use crate::source::Tree;

/// Errors that the service raises: those of the specification, and the cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A setting is invalid.
    Configuration,
    /// Data does not satisfy its schema.
    Validation,
    /// An expression failed.
    Expression,
    /// A service rejected the credentials.
    Authentication,
    /// A permission or a secret is missing.
    Authorization,
    /// A time limit was exceeded.
    Timeout,
    /// A service is unreachable, or returned an error.
    Communication,
    Runtime,
    /// The run is cancelled; not of the specification.
    Canceled,
}

impl Kind {
    /// Returns the last part of the type, the status and the title.
    const fn parts(self) -> (&'static str, u16, &'static str) {
        match self {
            Self::Configuration => ("configuration", 400, "Configuration Error"),
            Self::Validation => ("validation", 400, "Validation Error"),
            Self::Expression => ("expression", 400, "Expression Error"),
            Self::Authentication => ("authentication", 401, "Authentication Error"),
            Self::Authorization => ("authorization", 403, "Authorization Error"),
            Self::Timeout => ("timeout", 408, "Timeout Error"),
            Self::Communication => ("communication", 500, "Communication Error"),
            Self::Runtime => ("runtime", 500, "Runtime Error"),
            Self::Canceled => ("canceled", 499, "Cancellation"),
        }
    }

    pub fn uri(self) -> String {
        format!(
            "https://serverlessworkflow.io/spec/1.0.0/errors/{}",
            self.parts().0
        )
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ProcessError {
    /// A URI.
    pub kind: String,
    /// HTTP status.
    pub status: u16,
    /// One line.
    pub title: Option<String>,
    /// Description of this occurrence.
    pub detail: Option<String>,
    /// JSON pointer of the task.
    pub instance: String,
    /// Response of the service, of a call that it refused: `statusCode`, `headers` and `content`.
    pub response: Option<Data>,
}

impl ProcessError {
    /// Creates a standard error of the task at `instance`.
    pub fn new(kind: Kind, detail: impl Into<String>, instance: &str) -> Self {
        let (_, status, title) = kind.parts();
        Self {
            kind: kind.uri(),
            status,
            title: Some(title.to_owned()),
            detail: Some(detail.into()),
            instance: instance.to_owned(),
            response: None,
        }
    }

    /// Converts the failure of an expression, or of a value that does not satisfy its schema.
    pub fn of_failure(failure: &ExpressionFailure, instance: &str) -> Self {
        let kind = match failure {
            ExpressionFailure::Failed { .. } | ExpressionFailure::Exceeded { .. } => Kind::Expression,
            ExpressionFailure::Invalid { .. } => Kind::Validation,
        };
        Self::new(kind, failure.to_string(), instance)
    }

    /// Returns the error that a `raise` describes. `error` is its filled template, an object with `type`,
    /// `status` and further fields. The error is a sentence.
    pub fn raised(error: &Data, task: &str) -> Result<Self, String> {
        let text = |name: &str| match error.field(name) {
            None => Ok(None),
            Some(value) => match value.as_text() {
                Some(text) => Ok(Some(text)),
                None => Err(format!("The '{name}' of the error is not a text.")),
            },
        };
        let status = error.field("status").and_then(|status| status.get().parse().ok());
        Ok(Self {
            kind: text("type")?.ok_or("The error has no 'type'.")?,
            status: status.ok_or("The 'status' of the error is not a whole number such as 400.")?,
            title: text("title")?,
            detail: text("detail")?,
            instance: text("instance")?.unwrap_or_else(|| task.to_owned()),
            response: error.field("response"),
        })
    }

    /// Returns the error object of the specification.
    pub fn to_data(&self) -> Data {
        let text = |name: &'static str, text: &str| (name, Data::text(text));
        let mut fields = vec![
            text("type", &self.kind),
            ("status", Data::from(Tree::Number(self.status.to_string()))),
        ];
        fields.extend(self.title.as_deref().map(|title| text("title", title)));
        fields.extend(self.detail.as_deref().map(|detail| text("detail", detail)));
        fields.push(text("instance", &self.instance));
        fields.extend(self.response.clone().map(|response| ("response", response)));
        Data::object(fields)
    }
}

/// Whether an error has all values of `errors.with`; `with` is that object, filled. A final slash of a type
/// is ignored.
pub fn catches(with: &Data, error: &ProcessError) -> bool {
    let Tree::Object(wanted) = with.tree() else {
        return true;
    };
    let error = error.to_data();
    wanted.into_iter().all(|(name, wanted)| {
        let Some(found) = error.field(&name) else {
            return matches!(wanted, Tree::Null);
        };
        match (&wanted, found.as_text()) {
            (Tree::Text(wanted), Some(found)) if name == "type" => {
                wanted.trim_end_matches('/') == found.trim_end_matches('/')
            }
            _ => found == Data::from(wanted),
        }
    })
}
