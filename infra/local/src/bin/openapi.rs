//! Prints the OpenAPI document of all functions.

use std::io::Write as _;

use local::data_dir::DataDir;
use local::runner::Service;
use local::services::Services;
use platform::config::{ConfigError, Environment};

#[tokio::main]
async fn main() -> Result<(), ConfigError> {
    // The routes need services to be built; the document makes no request to them.
    let folder = tempfile::tempdir().map_err(|error| ConfigError::new(error.to_string()))?;
    let data = DataDir::open(folder.path())?;
    let services = Services::open(&data)?;
    let document = Service::new(&data, &services, &Environment::from_variables([])?, None)?.openapi()?;
    writeln!(std::io::stdout(), "{document}").map_err(|error| ConfigError::new(error.to_string()))
}
