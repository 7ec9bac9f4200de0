//! The Lambda of API keys, members, and what a caller may do.

use std::sync::Arc;

use identity::Identity;
use platform::Platform;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda::Error> {
    let deployment = lambda::start()?.deployment;
    let identity = Arc::new(Identity::from_deployment(&deployment)?);
    let platform = Platform::from_deployment(&deployment, Arc::<Identity>::clone(&identity))?;
    lambda::http::serve(&platform, access_function::routes(platform.clone(), identity)).await
}
