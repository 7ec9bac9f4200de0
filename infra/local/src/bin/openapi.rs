//! Prints the OpenAPI document of all functions.

use std::io::Write as _;

use local::data_dir::DataDir;
use local::runner::Service;
use local::services::{Ports, Services};
use platform::config::ConfigError;

#[tokio::main]
async fn main() -> Result<(), ConfigError> {
    // The routes need services to be built; the document makes no request to them.
    let folder = tempfile::tempdir().map_err(|error| ConfigError::new(error.to_string()))?;
    let services = Services::open(&DataDir::open(folder.path())?)?;
    let document = Service::new(&services, Ports::default())?.openapi()?;
    writeln!(std::io::stdout(), "{document}").map_err(|error| ConfigError::new(error.to_string()))
}
