//! The Lambda that reads the queue of events.

#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    matcher_function::run(&aws::deployment()?, runs::registry()).await
}
