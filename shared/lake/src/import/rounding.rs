//! Defines how an import rounds digits that a column cannot hold, if the caller requests it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rounding of digits after the point that a `DECIMAL`, `INTEGER` or `BIGINT` column does not keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// To the nearest value, a half to the one whose last digit is even: `12.505` becomes `12.50`.
    HalfEven,
    /// To the nearest value, a half away from zero: `12.505` becomes `12.51`.
    HalfUp,
}
