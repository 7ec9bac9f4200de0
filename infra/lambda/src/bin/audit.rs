//! The Lambda of the endpoints of the audit trail and of aggregation.

use event_log::{LogStore, LogStoreConfig};
use platform::config::AwsEnvironment;
use platform::page_token::PageTokens;

fn main() -> Result<(), lambda::Error> {
    lake::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), lambda::Error> {
    let deployment = lambda::start()?.deployment;
    let environment = deployment.environment();
    let platform = lambda::platform(&deployment)?;
    let config = LogStoreConfig::from_environment(environment)?;
    let config = config.fitting(environment, &AwsEnvironment::read())?;
    let log = LogStore::from_deployment(&deployment, &config)?;
    log.engine().warm()?;
    let tokens = PageTokens::from_deployment(&deployment)?;
    lambda::http::serve(&platform, audit_function::routes(platform.clone(), log, tokens)).await
}
