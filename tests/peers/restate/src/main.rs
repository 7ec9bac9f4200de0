//! Runs durable steps in sequence, like the sample type `Steps` of the local runner. The only argument is the
//! address to listen on.

use restate_sdk::prelude::*;

struct Steps;

#[service]
impl Steps {
    #[handler]
    async fn run(&self, context: Context<'_>, steps: u32) -> Result<u32, HandlerError> {
        for step in 0..steps {
            context.run(|| async move { Ok(step) }).name("step").await?;
        }
        Ok(steps)
    }
}

#[tokio::main]
async fn main() {
    let address = std::env::args().nth(1).and_then(|address| address.parse().ok());
    let Some(address) = address else {
        eprintln!("restate-steps: name the address to listen on, such as 127.0.0.1:9080");
        std::process::exit(1);
    };
    HttpServer::new(Endpoint::builder().bind(Steps).build())
        .listen_and_serve(address)
        .await;
}
