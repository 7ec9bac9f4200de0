//! Provides the HTTP edge that all functions share.
//!
//! A handler does not see it: its signature names a [`Call`] with the required permission, a [`Json`] body, a
//! [`Query`] or a [`Path`], and it returns a [`Reply`] or an [`Error`](crate::Error). The layers around the
//! handlers are, from the outside in: what Lambda reports about the request (`invocation`), trailing slashes,
//! request ids with the one log line and the error body, CORS ([`mod@edge`]), the token
//! ([`mod@authenticate`]), and the audit record of a mutation ([`audit`]).

pub mod audit;
pub mod authenticate;
pub mod call;
mod deadline;
pub mod edge;
pub mod inexact;
pub mod invocation;
pub mod json;
pub mod known;
pub mod numbers;
pub mod openapi;
pub mod page;
mod path;
pub mod precondition;
pub mod query;
pub mod reply;
pub mod request_permit;
pub mod sent_size;
pub mod service;
pub mod strict;
pub mod text;

pub use audit::{Audience, audited};
pub use authenticate::{
    API_KEY_PREFIX, Caller, Credentials, PROJECT_HEADER, Presented, Recheck, authenticate,
};
pub use call::Call;
pub use edge::{ClientAddress, edge};
pub use invocation::API_ROOT;
pub use json::{BodyLimit, Json, OptionalJson, body, parse, parse_part};
pub use known::SomeKnown;
pub use page::{Page, PageQuery};
pub use path::Path;
pub use precondition::if_match;
pub use query::{List, Query};
pub use reply::{Deleted, Reply};
