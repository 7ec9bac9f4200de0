//! `ops tenant export`: writes everything of a project into a folder.

use std::path::{Path, PathBuf};

use clap::Args;
use embedded::files::path_of;
use platform::records::Table;
use platform::{Error, Result, stored_json};
use serde::Serialize;
use serde_json::{Value, json};

use super::contents;
use super::manifest::{Folder, ListedFile, Manifest};
use crate::output::Output;
use crate::target::Target;

/// Attributes of runs, events and deliveries with compressed JSON.
const COMPRESSED: [&str; 4] = ["envelope", "events", "state", "summary"];
const OBJECTS: &str = "objects.ndjson";

#[derive(Args)]
pub struct ExportArguments {
    /// Folder to make, or an empty one.
    folder: PathBuf,
}

#[derive(Serialize)]
struct ItemLine<'a> {
    key: KeyLine<'a>,
    /// All attributes, with those of the key and of the places in indexes.
    item: &'a Value,
}

#[derive(Serialize)]
struct KeyLine<'a> {
    pk: &'a str,
    sk: &'a str,
}

#[derive(Serialize)]
struct ObjectLine<'a> {
    key: &'a str,
    /// Path below the folder.
    file: String,
    bytes: u64,
    sha256: String,
}

pub async fn run(arguments: &ExportArguments, target: &Target, output: Output) -> Result<()> {
    let folder = Folder::make(&arguments.folder)?;
    let mut manifest = Manifest::new(&target.tenant, target.clock.now());
    for (name, table) in contents::tables(target) {
        let file = export_table(name, table, target, &folder).await?;
        manifest.items += file.lines;
        manifest.files.push(file);
    }
    // An object is written before the item that names it, so the objects are listed last.
    export_objects(&mut manifest, target, &folder).await?;
    if manifest.items == 0 && manifest.objects == 0 {
        folder.discard()?;
        return Err(Error::invalid(format!(
            "There is nothing of {}. Name the project with --account and --project.",
            target.tenant
        )));
    }
    manifest.finish(&folder)?;
    let (items, objects, bytes) = (manifest.items, manifest.objects, manifest.object_bytes);
    let path = arguments.folder.display();
    output.print(
        &json!({ "folder": arguments.folder, "items": items, "objects": objects, "object_bytes": bytes }),
        &format!(
            "{path} has {items} items and {objects} objects with {bytes} bytes of {}. Keep it private.",
            target.tenant
        ),
    )
}

async fn export_table(name: &str, table: &Table, target: &Target, folder: &Folder) -> Result<ListedFile> {
    let mut lines = folder.lines(&format!("items/{name}.ndjson"))?;
    let mut start = None;
    loop {
        let (items, next) = contents::items(table, &target.tenant, start).await?;
        for (key, item) in items {
            let key = KeyLine {
                pk: &key.pk,
                sk: &key.sk,
            };
            let item = &readable(item);
            lines.add(&ItemLine { key, item })?;
        }
        match next {
            Some(_) => start = next,
            None => return lines.finish(),
        }
    }
}

/// Returns an item with the JSON of its compressed attributes.
fn readable(mut item: Value) -> Value {
    for name in COMPRESSED {
        let Some(Value::String(text)) = item.get_mut(name) else {
            continue;
        };
        if let Ok(json) = stored_json::read(text.clone()) {
            *text = json;
        }
    }
    item
}

async fn export_objects(manifest: &mut Manifest<'_>, target: &Target, folder: &Folder) -> Result<()> {
    let mut lines = folder.lines(OBJECTS)?;
    for below in target.objects.project_folders(&target.tenant).await? {
        for object in target.objects.list(&below).await? {
            let file = Path::new("objects").join(path_of(&object.key));
            let path = folder.path(&file);
            folder.make_above(&path)?;
            // An object that was removed since it was listed is no part of the export.
            if !target.objects.find_to_file(&object.key, &path, u64::MAX).await? {
                continue;
            }
            let (bytes, sha256) = folder.seal(&path)?;
            manifest.objects += 1;
            manifest.object_bytes += bytes;
            lines.add(&ObjectLine {
                key: &object.key,
                file: file.to_string_lossy().into_owned(),
                bytes,
                sha256,
            })?;
        }
    }
    manifest.files.push(lines.finish()?);
    Ok(())
}
