//! The Lambda of the prompt template endpoints.

fn main() -> Result<(), lambda::Error> {
    prompts_function::run_if_child();
    serve()
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), lambda::Error> {
    let deployment = lambda::start()?.deployment;
    let platform = lambda::platform(&deployment)?;
    // A Lambda instance handles one request at a time.
    let sandbox = prompts_function::sandbox(1)?;
    sandbox.warm()?;
    lambda::http::serve(&platform, prompts_function::routes(platform.clone(), sandbox)).await
}
