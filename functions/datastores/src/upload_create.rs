//! `POST /data/{store_id}/uploads`: returns a link by which a client uploads a file for an import.
//!
//! A body of the API has at most a few megabytes, so the file goes to the object store itself. As with the
//! link of a download there is no audit record: nothing changes before an import, which has one.

use std::collections::BTreeMap;

use aide::axum::routing::{ApiMethodRouter, post_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use lake::store::{LINK_LIFETIME, MAX_UPLOAD_BYTES};
use platform::auth::permission::WriteStores;
use platform::http::openapi::problem;
use platform::http::text::{MAX_NAME_LENGTH, check_name};
use platform::http::{Call, Json, Path, Reply};
use platform::{Error, ErrorKind, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::model::StorePath;

/// Maximum length of a name in UTF-8; the path of an artifact has at most 700 bytes.
const MAX_NAME_BYTES: usize = 600;

/// A file to upload.
#[derive(Deserialize, JsonSchema)]
pub struct CreateUpload {
    /// Name of the file, 1 to 200 characters and at most 600 bytes in UTF-8, without `/`, `\` and control
    /// characters. Its ending tells an import the format.
    #[schemars(length(min = 1, max = MAX_NAME_LENGTH))]
    pub name: String,
    /// Exact size of the file, in bytes; at most 4 GiB.
    #[schemars(range(min = 1, max = MAX_UPLOAD_BYTES))]
    pub bytes: u64,
}

/// The request that uploads a file.
#[derive(Serialize, JsonSchema)]
pub struct Upload {
    /// Address to send the file to. It needs no credentials: anyone who has the link can write the file.
    pub url: String,
    /// Method of the request: `PUT`.
    pub method: UploadMethod,
    /// Headers that the request must have. A client sets `content-length` itself, to `bytes`.
    pub headers: BTreeMap<String, String>,
    /// `uri` of the file in an import with `source: artifact`.
    pub uri: String,
    /// Time for which `url` is valid, in seconds: 900.
    pub expires_in: u64,
}

/// Method of an upload.
#[derive(Serialize, JsonSchema)]
pub enum UploadMethod {
    /// The body of the request is the file.
    #[serde(rename = "PUT")]
    Put,
}

pub fn route() -> ApiMethodRouter<App> {
    post_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("createUpload")
        .tag("data stores")
        .summary("Get a link to upload a file")
        .description(
            "Answers a request that uploads a file for an import: send the file to `url` with `method` and `headers`, then import \
             it by `importRows` with `{\"source\": \"artifact\", \"uri\": uri}`. A file of another size is refused. A second upload \
             before the link expires replaces the file. Every data store of the project can import it. It stays until an operator \
             removes it. No audit record; the import has one.",
        )
        .response::<200, axum::Json<Upload>>()
        .with(problem(
            ErrorKind::NotFound,
            "The data store does not exist.",
            "The data store '0197f3c2-8a41-7d0e-9b1c-5e2f6a7d8c90' does not exist.",
        ))
        .with(problem(
            ErrorKind::PayloadTooLarge,
            "The file is larger than what an import reads.",
            "The file has 5000000000 bytes; an import reads at most 4294967296. Split it.",
        ))
}

async fn handler(
    call: Call<WriteStores>,
    State(app): State<App>,
    Path(path): Path<StorePath>,
    Json(body): Json<CreateUpload>,
) -> Result<Reply<Upload>> {
    let (tenant, id) = (call.tenant()?, call.new_id());
    check(&body)?;
    let file = (id.as_str(), body.name.as_str());
    let upload = app
        .stores
        .upload(&tenant, &path.store_id, file, body.bytes)
        .await?;
    Ok(Reply::ok(Upload {
        url: upload.link.url,
        method: UploadMethod::Put,
        headers: upload.link.headers,
        uri: upload.path,
        expires_in: LINK_LIFETIME.as_secs(),
    }))
}

fn check(upload: &CreateUpload) -> Result<()> {
    let name = &upload.name;
    check_name("name", name)?;
    if name.len() > MAX_NAME_BYTES {
        return Err(Error::invalid_field(
            "name",
            format!("has {} bytes; at most {MAX_NAME_BYTES} are taken.", name.len()),
        ));
    }
    if name.contains(['/', '\\']) || matches!(name.as_str(), "." | "..") {
        return Err(Error::invalid_field(
            "name",
            "is the name of a file, without a path: it has neither '/' nor '\\', and is not '.' or '..'.",
        ));
    }
    if upload.bytes == 0 {
        return Err(Error::invalid_field(
            "bytes",
            "must be at least 1: an empty file has nothing to import.",
        ));
    }
    if upload.bytes > MAX_UPLOAD_BYTES {
        let message = format!(
            "The file has {} bytes; an import reads at most {MAX_UPLOAD_BYTES}. Split it.",
            upload.bytes
        );
        return Err(Error::new(ErrorKind::PayloadTooLarge, message));
    }
    Ok(())
}
