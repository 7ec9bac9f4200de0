//! Defines why a request has no answer.

use std::time::Duration;

use hyper_util::client::legacy::Error as ClientError;

use super::rules::NotAllowed;

/// Reason why there is no answer, worded as the end of a sentence about the URL.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    #[error("{0}")]
    Refused(String),
    #[error("it answered with a redirect ({0}), which is not followed; give the address that it leads to")]
    Redirect(u16),
    #[error("it answered with the status {0}")]
    Status(u16),
    /// Too many answers with a status below 200.
    #[error("it sends more than {0} provisional answers")]
    Provisional(u32),
    #[error("it sends more than the {0} bytes that can be read")]
    TooLarge(u64),
    #[error("it took longer than {} seconds", .0.as_secs_f64())]
    TooSlow(Duration),
    /// No connection, or a connection that broke off.
    #[error("it cannot be reached, or broke off")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The certificate is not for this host, expired, or from an authority that the machine does not trust.
    #[error("its certificate is not accepted: {0}")]
    Certificate(String),
    #[error("the file cannot be written")]
    File(#[source] std::io::Error),
}

impl OutboundError {
    /// Returns the cause for the log; it never contains the URL.
    pub fn cause(&self) -> Option<String> {
        let first = std::error::Error::source(self)?;
        let causes = std::iter::successors(Some(first), |cause| cause.source());
        Some(causes.map(ToString::to_string).collect::<Vec<_>>().join(": "))
    }

    /// Returns the name of the variant, for traces.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Refused(_) => "refused",
            Self::Redirect(_) => "redirect",
            Self::Status(_) => "status",
            Self::Provisional(_) => "provisional",
            Self::TooLarge(_) => "too_large",
            Self::TooSlow(_) => "timeout",
            Self::Unreachable(_) => "unreachable",
            Self::Certificate(_) => "certificate",
            Self::File(_) => "file",
        }
    }

    /// Whether there was no connection, so that nothing was sent.
    pub fn is_unconnected(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Certificate(_) => true,
            Self::Unreachable(cause) => is_connect(cause.as_ref()),
            _ => false,
        }
    }
}

impl From<NotAllowed> for OutboundError {
    fn from(NotAllowed(why): NotAllowed) -> Self {
        Self::Refused(why)
    }
}

/// Whether an error of the client says that no connection was made.
fn is_connect(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.downcast_ref().is_some_and(ClientError::is_connect)
}
