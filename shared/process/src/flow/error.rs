//! Error objects (RFC 7807), and which of them a `catch` takes.

use crate::data::Data;
use crate::expression::Failure;
use crate::source::Tree;

/// Standard errors of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A setting is wrong.
    Configuration,
    /// Data does not satisfy its schema.
    Validation,
    /// An expression fails.
    Expression,
    /// A service refuses the credentials.
    Authentication,
    /// A permission is missing, or a secret.
    Authorization,
    /// Something took too long.
    Timeout,
    /// A service cannot be reached, or answers with an error.
    Communication,
    /// Anything else.
    Runtime,
}

impl Kind {
    /// Last part of the type, status and title.
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
        }
    }

    /// The URI.
    pub fn uri(self) -> String {
        format!(
            "https://serverlessworkflow.io/spec/1.0.0/errors/{}",
            self.parts().0
        )
    }
}

/// An error of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessError {
    /// A URI.
    pub kind: String,
    /// As in HTTP.
    pub status: u16,
    /// One line.
    pub title: Option<String>,
    /// About this occurrence.
    pub detail: Option<String>,
    /// JSON pointer of the task.
    pub instance: String,
}

impl ProcessError {
    /// A standard error of the task at `instance`.
    pub fn new(kind: Kind, detail: impl Into<String>, instance: &str) -> Self {
        let (_, status, title) = kind.parts();
        Self {
            kind: kind.uri(),
            status,
            title: Some(title.to_owned()),
            detail: Some(detail.into()),
            instance: instance.to_owned(),
        }
    }

    /// The error of an expression without a result, or of a value that does not satisfy its schema.
    pub fn of_failure(failure: &Failure, instance: &str) -> Self {
        let kind = match failure {
            Failure::Failed { .. } | Failure::Exceeded { .. } => Kind::Expression,
            Failure::Invalid { .. } => Kind::Validation,
        };
        Self::new(kind, failure.to_string(), instance)
    }

    /// The error that a `raise` describes; `error` is its template, filled, as an object with `type`,
    /// `status` and its other fields. The error is a sentence.
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
        })
    }

    /// The object of the specification.
    pub fn to_data(&self) -> Data {
        let text = |name: &'static str, text: &str| (name, Data::text(text));
        let mut fields = vec![
            text("type", &self.kind),
            ("status", Data::from(Tree::Number(self.status.to_string()))),
        ];
        fields.extend(self.title.as_deref().map(|title| text("title", title)));
        fields.extend(self.detail.as_deref().map(|detail| text("detail", detail)));
        fields.push(text("instance", &self.instance));
        Data::object(fields)
    }
}

/// Whether an error has all the values of `errors.with`; `with` is that object, filled. Types are the same
/// with and without a slash at their end.
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
