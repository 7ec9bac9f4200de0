//! `ops env`: prints the variables that a shell needs to call the local runner.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use local::issuer::{Issuer, LIFETIME_SECONDS, Subject};
use platform::{Clock, Error, Result};
use serde::Serialize;

use crate::output::Output;
use crate::target::TargetArguments;

/// Time limit of the test connection to the runner.
const PROBE: Duration = Duration::from_secs(1);

#[derive(Serialize)]
struct Printed {
    api: String,
    ingest: String,
    token: String,
}

/// Prints `export` lines for the API, the ingest base and a token of the named account and project.
pub fn run(target: &TargetArguments, output: Output) -> Result<()> {
    let data = target.keys()?;
    let origin = data.origin().ok_or_else(|| {
        Error::invalid(format!(
            "The runner has not been started over the data directory {} yet: `millrace` starts it.",
            data.root().display()
        ))
    })?;
    if !data.address().is_some_and(answers) {
        let _ = writeln!(
            std::io::stderr(),
            "millrace ops: no runner answers at {origin}; start it over the data directory {}",
            data.root().display()
        );
    }
    let subject = Subject {
        account: target.account.clone(),
        project: Some(target.project.clone()),
        ..Subject::default()
    };
    let issuer = Issuer::open(&data).map_err(|error| Error::invalid(error.to_string()))?;
    let printed = Printed {
        api: format!("{origin}/api/v1"),
        ingest: format!("{origin}/ingest"),
        token: issuer.token(&subject, Clock::System.now(), LIFETIME_SECONDS)?,
    };
    let lines = format!(
        "export API={}\nexport INGEST={}\nexport TOKEN={}",
        printed.api, printed.ingest, printed.token
    );
    output.print(&printed, &lines)
}

/// True if the port of the last running runner accepts connections.
fn answers(mut address: SocketAddr) -> bool {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    TcpStream::connect_timeout(&address, PROBE).is_ok()
}
