//! The Lambda that reads the queue of events.

#[tokio::main]
async fn main() -> Result<(), lambda::Error> {
    lambda::matcher::run(&lambda::start()?, runs::registry()).await
}
