//! Opens the port and the data directory, which no other process may have; with `--replace` they are taken
//! over.

use std::net::SocketAddr;
use std::time::Duration;

use listenfd::ListenFd;
use platform::config::ConfigError;
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::data_dir::DataDir;
use crate::queue_server::OtherRunner;
use crate::secrets::queue_secret;
use crate::settings::Settings;

/// Longest time that a replaced runner takes to end.
const ENDING: Duration = Duration::from_secs(30);
/// Time between two looks whether it has ended.
const LOOKING: Duration = Duration::from_millis(20);

/// Listens, before another runner is asked to stop: where a third program has the port, that one goes on. Its
/// own port is free only after its end.
pub async fn listen_and_own(settings: &Settings) -> Result<(TcpListener, DataDir), ConfigError> {
    let is_others = || {
        // Without a data directory there is no other runner, and a refused start makes none.
        let is_present = DataDir::is_present(&settings.data_dir);
        is_present.then_some(())?;
        let address = DataDir::open_keys(&settings.data_dir).ok()?.address()?;
        (address.port() == settings.listen.port()).then_some(())
    };
    match listen(settings.listen).await {
        Ok(listener) => Ok((listener, own(settings).await?)),
        Err(refusal) if !settings.replace || is_others().is_none() => Err(refusal),
        Err(_) => {
            let data = own(settings).await?;
            Ok((listen(settings.listen).await?, data))
        }
    }
}

/// Opens the data directory. With `--replace` it asks the runner that has it to stop, and waits for its end.
async fn own(settings: &Settings) -> Result<DataDir, ConfigError> {
    let until = Instant::now() + ENDING;
    // Another runner may have taken over meanwhile, so each is asked.
    let mut last = None;
    loop {
        let data = DataDir::open(&settings.data_dir)?;
        if data.is_ours() {
            return Ok(data);
        }
        if !settings.replace || Instant::now() >= until {
            let advice = match settings.replace {
                true => "It was asked to stop and has not; stop it.",
                false => "Stop it, start this one with --replace, or set DATA_DIR to another folder.",
            };
            return Err(ConfigError::new(format!(
                "Another process has the data directory {} open. {advice}",
                data.root().display()
            )));
        }
        let endpoint = data.queues().filter(|endpoint| last.as_ref() != Some(endpoint));
        if let Some(endpoint) = endpoint {
            let secret = queue_secret(&data)?;
            // One that does not answer is asked again.
            if OtherRunner::new(&endpoint, &secret).stop().await.is_ok() {
                last = Some(endpoint);
            }
        }
        tokio::time::sleep(LOOKING).await;
    }
}

/// Takes the socket that systemd passes, which stays open while the service restarts, or opens one.
async fn listen(address: SocketAddr) -> Result<TcpListener, ConfigError> {
    let refused = |error: std::io::Error| {
        ConfigError::new(format!(
            "Port {} of {} cannot be used: {error}. Set PORT or MILLRACE_LISTEN to another one.",
            address.port(),
            address.ip()
        ))
    };
    let passed = ListenFd::from_env().take_tcp_listener(0);
    match passed.map_err(refused)? {
        None => TcpListener::bind(address).await.map_err(refused),
        Some(listener) => {
            listener.set_nonblocking(true).map_err(refused)?;
            TcpListener::from_std(listener).map_err(refused)
        }
    }
}
