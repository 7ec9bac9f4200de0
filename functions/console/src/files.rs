//! Holds the built files of the console in memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use platform::config::ConfigError;

pub struct File {
    pub media_type: &'static str,
    pub content: Bytes,
}

pub struct Files {
    page: File,
    /// By path from the folder.
    assets: BTreeMap<String, File>,
}

impl Files {
    pub fn read(folder: &Path) -> Result<Self, ConfigError> {
        let mut assets = BTreeMap::new();
        let failed = |cause: std::io::Error| {
            ConfigError::new(format!(
                "The console cannot be read from {}: {cause}. `infra/console/build` builds it and prints its folder, for \
                 MILLRACE_CONSOLE_DIR.",
                folder.display()
            ))
        };
        let page = read(&folder.join("index.html")).map_err(failed)?;
        for entry in fs::read_dir(folder.join("assets")).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            assets.insert(format!("assets/{name}"), read(&path).map_err(failed)?);
        }
        Ok(Self { page, assets })
    }

    pub fn page(&self) -> &File {
        &self.page
    }

    pub fn asset(&self, path: &str) -> Option<&File> {
        self.assets.get(path)
    }
}

fn read(path: &Path) -> std::io::Result<File> {
    let media_type = match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    Ok(File {
        media_type,
        content: fs::read(path)?.into(),
    })
}
