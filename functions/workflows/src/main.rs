//! The Lambda of the workflow run endpoints.

fn main() -> Result<(), lambda_http::Error> {
    runs::process::run_if_child();
    serve()
}

#[tokio::main]
async fn serve() -> Result<(), lambda_http::Error> {
    workflows_function::run(&aws::deployment()?, runs::registry()).await
}
