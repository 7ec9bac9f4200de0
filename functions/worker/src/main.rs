//! The Lambda that reads the queue of hints at workflow runs.

use aws::Aws;

fn main() -> Result<(), lambda_runtime::Error> {
    runs::process::run_if_child();
    serve()
}

#[tokio::main]
async fn serve() -> Result<(), lambda_runtime::Error> {
    let aws = Aws::from_environment();
    let deployment = aws.deployment()?;
    worker_function::run(&deployment, &aws.bedrock(), runs::registry()).await
}
