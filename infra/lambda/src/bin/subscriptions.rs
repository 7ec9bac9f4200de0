//! The Lambda of the event subscription endpoints.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda::Error> {
    lambda::subscriptions::run(&lambda::start()?, runs::registry()).await
}
