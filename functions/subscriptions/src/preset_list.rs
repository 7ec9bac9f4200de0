//! `GET /events/presets`: lists the senders whose settings a channel can take.

use aide::axum::routing::{ApiMethodRouter, get_with};
use aide::transform::TransformOperation;
use events::sender::preset::{self, Preset};
use platform::Result;
use platform::auth::permission::ReadEvents;
use platform::http::{Call, Query, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;

/// Which presets to list.
#[derive(Deserialize, JsonSchema)]
pub struct ListPresets {
    /// Name of one preset, such as `stripe`. Default: all of them.
    pub name: Option<String>,
}

/// The known senders.
#[derive(Serialize, JsonSchema)]
pub struct PresetList {
    /// A preset for each sender, in the order of their names.
    pub presets: Vec<&'static Preset>,
}

pub fn route() -> ApiMethodRouter<App> {
    get_with(handler, doc)
}

fn doc(operation: TransformOperation<'_>) -> TransformOperation<'_> {
    operation
        .id("listPresets")
        .tag("channels")
        .summary("List presets of senders")
        .description(
            "Lists the senders that are known: what they sign, how they ask whether a URL wants their events, the form of their \
             bodies and where the parts of an event are. A channel with a `preset` takes these settings.",
        )
        .response_with::<200, axum::Json<PresetList>, _>(|response| response.description("The presets."))
}

async fn handler(call: Call<ReadEvents>, Query(query): Query<ListPresets>) -> Result<Reply<PresetList>> {
    call.tenant()?;
    let presets = match &query.name {
        None => preset::all().iter().collect(),
        Some(name) => vec![preset::get(name)?],
    };
    Ok(Reply::ok(PresetList { presets }))
}
