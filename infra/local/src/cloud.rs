//! Connects to what the runner may use of AWS: records and objects where the environment says so, the buckets
//! of imports, named secrets, and models of Bedrock. All are None where the feature `aws` is missing.

use std::sync::Arc;

use models::Connect;
use platform::deployment::Backend;

#[cfg(feature = "aws")]
pub(crate) fn aws() -> Option<Arc<dyn Backend>> {
    Some(Arc::new(aws::Aws::from_environment()))
}

#[cfg(not(feature = "aws"))]
pub(crate) fn aws() -> Option<Arc<dyn Backend>> {
    None
}

/// Connects to Bedrock.
#[cfg(feature = "aws")]
pub(crate) const BEDROCK: Option<&Connect<'static>> =
    Some(&|limits, clock| aws::Aws::from_environment().bedrock()(limits, clock));

#[cfg(not(feature = "aws"))]
pub(crate) const BEDROCK: Option<&Connect<'static>> = None;
