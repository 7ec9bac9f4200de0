//! Runs the emulators of DynamoDB and S3 in a process of their own.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// Tables of a stage; the prefix `+` marks those with the indexes of listings.
const TABLES: &str = "millrace-records,millrace-audit,+millrace-runs,+millrace-events";
const BUCKET: &str = "millrace-data";

/// Running process; it is killed when this is dropped.
pub struct Emulators {
    process: Child,
    folder: PathBuf,
    /// Address of both emulators.
    pub endpoint: String,
    key_id: String,
    secret: String,
}

impl Emulators {
    /// Starts `program` over a folder of its own.
    pub fn start(program: &Path, folder: &Path) -> Self {
        let mut process = Command::new(program)
            .arg(folder)
            .arg(TABLES)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the emulators start");
        let mut line = String::new();
        let output = process.stdout.take().expect("it is a pipe");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("they say where they answer");
        let message: Value = serde_json::from_str(&line).expect("it is JSON");
        let text = |name: &str| message[name].as_str().expect("it is a text").to_owned();
        Self {
            process,
            folder: folder.to_owned(),
            endpoint: text("endpoint"),
            key_id: text("key_id"),
            secret: text("secret"),
        }
    }

    /// Returns the variables with the SDK's keys for them.
    pub fn keys(&self) -> [(&'static str, String); 2] {
        [
            ("AWS_ACCESS_KEY_ID", self.key_id.clone()),
            ("AWS_SECRET_ACCESS_KEY", self.secret.clone()),
        ]
    }

    /// Adds an object, as another program does.
    pub fn put(&self, bucket: &str, key: &str, bytes: &[u8]) {
        let path = self.folder.join("objects").join(bucket).join(key);
        std::fs::create_dir_all(path.parent().expect("a key")).expect("the folder can be written");
        std::fs::write(path, bytes).expect("the folder can be written");
    }

    /// Returns the variables that make a local runner keep its records and objects in them.
    pub fn of_a_runner(&self) -> Vec<(&'static str, String)> {
        let here = [
            ("MILLRACE_RECORDS", "dynamodb".to_owned()),
            ("MILLRACE_OBJECTS", "s3".to_owned()),
            ("MILLRACE_DATA_BUCKET", BUCKET.to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ENDPOINT_URL", self.endpoint.clone()),
        ];
        self.keys().into_iter().chain(here).collect()
    }
}

impl Drop for Emulators {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
