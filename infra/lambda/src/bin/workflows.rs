//! The Lambda of the workflow run endpoints.

fn main() -> Result<(), lambda::Error> {
    runs::process::run_if_child();
    serve()
}

#[tokio::main]
async fn serve() -> Result<(), lambda::Error> {
    lambda::workflows::run(&lambda::start()?, runs::registry()).await
}
