//! A receiver of webhooks to try deliveries with: see `tests::receiver` for what its paths do.

#![expect(clippy::print_stdout, reason = "it says what it got")]

use clap::Parser;
use tests::Receiver;

/// Receives webhooks, checks their signatures and prints what came.
#[derive(Parser)]
#[command(name = "receiver")]
struct Arguments {
    /// Port to listen on, on 127.0.0.1.
    #[arg(long, default_value_t = 4000)]
    port: u16,
    /// A secret that requests are signed with; may be given several times.
    #[arg(long)]
    secret: Vec<String>,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let (receiver, serving) = Receiver::bind(arguments.port, arguments.secret).await?;
    println!(
        "Receiving at {}; what came is at {}/received.",
        receiver.origin, receiver.origin
    );
    let told = tokio::spawn(async move {
        let mut told = 0;
        loop {
            let received = receiver.received();
            for one in received.iter().skip(told) {
                println!("{} {} {} {}", one.path, one.answered, one.signature, one.body);
            }
            told = received.len();
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    });
    serving.await;
    told.abort();
    Ok(())
}
