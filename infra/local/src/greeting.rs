//! Prints what a developer needs once the service is ready.

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;

use platform::config::ConfigError;
use platform::{Clock, UtcTime};
use rustix::fs::FileType;

use crate::arguments::DEFAULT_DATA_DIR;
use crate::data_dir::DataDir;
use crate::issuer::{Issuer, LIFETIME_SECONDS, Subject};

/// What the service is at, and what it has.
pub struct Greeting<'a> {
    /// URL of the service.
    pub origin: &'a str,
    pub data: &'a DataDir,
    /// Data directory as it was named.
    pub data_dir: &'a Path,
    pub has_console: bool,
    /// Words that start the program in a shell.
    pub command: &'a str,
    /// None where an identity provider issues tokens.
    pub issuer: Option<&'a Issuer>,
}

impl Greeting<'_> {
    pub fn print(&self, clock: &Clock) -> Result<(), ConfigError> {
        let access = self.access(clock.now())?;
        let base = self.origin;
        let console = match self.has_console {
            true => format!("{base}/console"),
            false => "not built; `infra/console/build` builds it for MILLRACE_CONSOLE_DIR".to_owned(),
        };
        let text = format!(
            r#"Millrace is ready.

  console     {console}
  API         {base}/api/v1
  ingest      {base}/ingest
  reference   {base}/docs
  data        {}

{access}

Try:

curl -s -H "Authorization: Bearer $TOKEN" {base}/api/v1/prompts
curl -s -H "Authorization: Bearer $TOKEN" -H 'content-type: application/json' {base}/api/v1/prompts \
  -d '{{"name":"Greeting","role":"user","content_type":"handlebars","content":"Hello {{{{name}}}}!"}}'
curl -s -H "Authorization: Bearer $TOKEN" {base}/api/v1/audit-trail

"#,
            self.data.root().display(),
        );
        let mut out = io::stdout();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        Ok(())
    }

    /// Says how a caller gets an access token.
    fn access(&self, now: UtcTime) -> Result<String, ConfigError> {
        let Some(issuer) = self.issuer else {
            let text =
                "Access tokens are those of the identity provider in the settings; export one as TOKEN.";
            return Ok(text.to_owned());
        };
        let variables = format!(
            "API, INGEST and TOKEN for another terminal:\n\neval \"$({})\"\n\n",
            self.env_command()
        );
        if !may_print(io::stdout().as_fd()) {
            let text = "Others can read this file, so no token is printed here.";
            return Ok(variables + text);
        }
        let token = issuer
            .token(&Subject::default(), now, LIFETIME_SECONDS)
            .map_err(|error| ConfigError::new(error.to_string()))?;
        let text = format!(
            "A token of the developer 'dev' of account 'acme', project 'demo', good for 12 hours:\n\nexport TOKEN={token}"
        );
        Ok(variables + &text)
    }

    /// Returns the command that prints the variables for another terminal.
    fn env_command(&self) -> String {
        let command = format!("{} ops env", self.command);
        match self.data_dir == Path::new(DEFAULT_DATA_DIR) {
            true => command,
            false => format!("DATA_DIR='{}' {command}", self.data_dir.display()),
        }
    }
}

/// True if a secret printed here stays with the owner: the output is not a file that others can read.
fn may_print(output: BorrowedFd<'_>) -> bool {
    rustix::fs::fstat(output).is_ok_and(|file| {
        FileType::from_raw_mode(file.st_mode) != FileType::RegularFile || file.st_mode & 0o044 == 0
    })
}
