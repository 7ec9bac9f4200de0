//! Runs nginx in front of a service.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

use crate::environment::variable;

/// Starts with other ports, because another program may take a free port first.
const STARTS: usize = 5;

/// An nginx with the settings of its distribution, as a proxy. Stops when dropped.
pub struct Nginx {
    child: Child,
    address: String,
}

impl Nginx {
    /// Starts the program that `NGINX` names before the service at `upstream`, a host and port.
    ///
    /// # Panics
    ///
    /// Panics without the variable, and when the program does not start.
    pub fn before(upstream: &str, folder: &Path) -> Self {
        Self::with(
            "",
            &format!("location / {{ proxy_pass http://{upstream}; }}"),
            folder,
        )
    }

    /// Starts it with settings of its server, after `listen <address>`: `options` of the socket, and the
    /// rest.
    ///
    /// # Panics
    ///
    /// Panics as [`before`](Self::before).
    pub fn with(options: &str, server: &str, folder: &Path) -> Self {
        let program = variable("NGINX")
            .expect("NGINX is not set: name an nginx, or leave such tests out by `-- --skip _behind_nginx`");
        let started = (0..STARTS).find_map(|_| Self::start(&program, (options, server), folder));
        started.expect("nginx starts")
    }

    /// Returns host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// None where nginx ends, as it does when its port is taken.
    fn start(program: &str, (options, server): (&str, &str), folder: &Path) -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("an address").to_string();
        drop(free);
        let folder = folder.join("nginx");
        fs::create_dir_all(&folder).expect("a folder");
        let at = folder.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {at}/{name};"))
            .concat();
        let settings = format!(
            "daemon off; master_process off; pid {at}/pid; error_log stderr; events {{ worker_connections 4096; }}
             http {{
                 access_log off; {temporary}
                 server {{ listen {address} {options}; {server} }}
             }}"
        );
        let file = folder.join("nginx.conf");
        fs::write(&file, settings).expect("the settings are written");
        let mut child = Command::new(program)
            // It takes this for a list of sockets.
            .env_remove("NGINX")
            .args(["-e", "stderr", "-p"])
            .arg(&folder)
            .arg("-c")
            .arg(&file)
            .spawn()
            .expect("nginx starts");
        while TcpStream::connect(&address).is_err() {
            if child.try_wait().expect("a status").is_some() {
                return None;
            }
            sleep(Duration::from_millis(5));
        }
        Some(Self { child, address })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
