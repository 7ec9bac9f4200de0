//! The Lambda that reads the queue of hints at workflow runs.

fn main() -> Result<(), lambda::Error> {
    runs::process::run_if_child();
    serve()
}

#[tokio::main]
async fn serve() -> Result<(), lambda::Error> {
    lambda::worker::run(&lambda::start()?, runs::registry()).await
}
