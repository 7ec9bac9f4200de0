//! The Lambda of the event subscription endpoints.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    subscriptions_function::run(&aws::deployment()?, runs::registry()).await
}
