//! Reads query parameters; rejections name the parameter.

use aide::OperationInput;
use aide::generate::GenContext;
use aide::openapi::Operation;
use aide::operation::{ParamLocation, add_parameters, parameters_from_schema};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use super::numbers::{Numbers, Rules};
use crate::error::Error;

/// Query parameters of a request. Unknown ones are ignored, and an empty one counts as left out: forms and
/// clients send it for a field without a value.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let pairs = parts.uri.query().unwrap_or_default().split('&');
        let given = pairs.filter(|pair| pair.split_once('=').is_some_and(|(_, value)| !value.is_empty()));
        let text = given.collect::<Vec<_>>().join("&");
        let numbers = Numbers {
            inner: serde_html_form::Deserializer::from_bytes(text.as_bytes()),
            rules: Rules {
                are_texts: true,
                ..Rules::default()
            },
        };
        serde_path_to_error::deserialize(numbers)
            .map(Self)
            .map_err(|error| {
                let name = error.path().to_string();
                Error::invalid(format!(
                    "The query parameter '{name}' is not as it must be: {}.",
                    error.into_inner()
                ))
            })
    }
}

impl<T: JsonSchema> OperationInput for Query<T> {
    fn operation_input(context: &mut GenContext, operation: &mut Operation) {
        let schema = context.schema.subschema_for::<T>();
        let parameters = parameters_from_schema(context, schema, ParamLocation::Query);
        add_parameters(context, operation, parameters);
    }
}

/// A list, given as repeated parameters, comma-joined, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(transparent)]
pub struct List(pub Vec<String>);

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Vec::<String>::deserialize(deserializer)?;
        let parts = given
            .iter()
            .flat_map(|text| text.split(','))
            .map(str::trim)
            .filter(|part| !part.is_empty());
        Ok(Self(parts.map(str::to_owned).collect()))
    }
}
