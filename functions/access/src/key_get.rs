//! `GET /keys/{key_id}`: reads an API key, without its secret.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use axum::extract::State;
use platform::Result;
use platform::auth::permission::AdministerProject;
use platform::http::{Call, Path, Reply};

use crate::App;
use crate::key_model::{Key, KeyPath};

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("getKey")
        .tag("access")
        .summary("Read an API key")
        .description("Answers an API key of the project without its secret, with the time of its last use.")
        .response_with::<200, axum::Json<Key>, _>(|response| response.description("The key."))
}

async fn handler(
    call: Call<AdministerProject>,
    State(app): State<App>,
    Path(path): Path<KeyPath>,
) -> Result<Reply<Key>> {
    let key = app.keys.get(&call.tenant()?, &path.key_id).await?;
    Ok(Reply::ok(Key::new(key, call.now)))
}
