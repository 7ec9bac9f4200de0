//! The data store endpoints.
