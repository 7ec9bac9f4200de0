//! Reads path parameters: opaque ids of up to 200 characters.

use aide::OperationInput;
use aide::generate::GenContext;
use aide::openapi::Operation;
use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::ids::{MAX_ID_LENGTH, is_id};

#[derive(Debug)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let raw = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|_| Error::invalid("The path is not valid UTF-8."))?;
        for (name, value) in &raw {
            if value.chars().count() > MAX_ID_LENGTH {
                return Err(Error::invalid(format!(
                    "The {name} of the path is longer than {MAX_ID_LENGTH} characters."
                )));
            }
            if !is_id(value) {
                return Err(Error::invalid(format!(
                    "The {name} of the path holds a character that no id has."
                )));
            }
        }
        let axum::extract::Path(value) = axum::extract::Path::<T>::from_request_parts(parts, state)
            .await
            .map_err(|error| Error::invalid(message(&error)).with_source(error.to_string()))?;
        Ok(Self(value))
    }
}

fn message(error: &PathRejection) -> String {
    if let PathRejection::FailedToDeserializePathParams(cause) = error
        && let ErrorKind::ParseErrorAtKey {
            key,
            value,
            expected_type: "u64",
        } = cause.kind()
    {
        return format!("The {key} of the path is '{value}', which is not a whole number below 2^64.");
    }
    "The path is not as it must be.".to_owned()
}

impl<T: JsonSchema> OperationInput for Path<T> {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        axum::extract::Path::<T>::operation_input(context, operation);
    }
}
