//! The key schema that the tables have, for whoever makes tables: the local runner and the tests. In the cloud
//! `template.yaml` makes them.

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TimeToLiveSpecification,
};

use crate::error::{Error, Result};
use crate::records::store::key_names;

/// The attribute that ends an item's life, in seconds since the Unix epoch.
pub const EXPIRES_AT: &str = "expires_at";

/// Index `gsi1`, for a second way to ask.
pub const GSI1: &str = "gsi1";

/// Sparse index of unfinished work, by the time at which somebody should look at it.
pub const DUE: &str = "due";

/// Indexes of what is listed in several ways: by time, by status, and by two things more, which are a run's type and document, and a
/// delivery's subscription and event.
pub const LISTING_INDEXES: [&str; 4] = [GSI1, "gsi2", "gsi3", "gsi4"];

const INDEXES_OF_LISTED: [&str; 5] = {
    let [time, status, first, second] = LISTING_INDEXES;
    [DUE, time, status, first, second]
};

/// The attribute that these indexes carry beside keys: what a listing shows, or chooses by.
pub const SUMMARY: &str = "summary";

/// What a table is for; it decides which indexes there are and what these carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableKind {
    /// Records of any kind: `gsi1`, with whole items.
    Records,
    /// Runs, events and deliveries: an index for each question of a listing, with the summary alone. A run is written with each of its
    /// steps, and an index only where what it carries has changed.
    Listed,
}

/// What an index holds of an item, beside the keys of the item and of its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// Every attribute.
    All,
    /// [`SUMMARY`].
    Summary,
    /// The keys alone.
    Keys,
}

/// In the order that the SQLite adapter numbers them: new ones come last.
pub const fn indexes(kind: TableKind) -> &'static [&'static str] {
    match kind {
        TableKind::Records => &[DUE, GSI1],
        TableKind::Listed => &INDEXES_OF_LISTED,
    }
}

/// What an index of a table holds of an item.
pub fn carried(kind: TableKind, index: &str) -> Carried {
    match (kind, index) {
        (TableKind::Records, _) => Carried::All,
        (TableKind::Listed, DUE) => Carried::Keys,
        (TableKind::Listed, _) => Carried::Summary,
    }
}

/// Makes a table with the schema unless it exists.
pub async fn create_table(sdk: &SdkConfig, name: &str, kind: TableKind) -> Result<()> {
    let client = Client::new(sdk);
    if client.describe_table().table_name(name).send().await.is_ok() {
        return Ok(());
    }
    let created = client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(attributes(kind)?))
        .set_key_schema(Some(key_schema("pk", "sk")?))
        .set_global_secondary_indexes(Some(further_indexes(kind)?))
        .send()
        .await;
    match created {
        Err(error) if error.code() == Some("ResourceInUseException") => return Ok(()),
        other => other.map_err(Error::unavailable)?,
    };
    let ttl = TimeToLiveSpecification::builder()
        .enabled(true)
        .attribute_name(EXPIRES_AT)
        .build();
    client
        .update_time_to_live()
        .table_name(name)
        .time_to_live_specification(ttl.map_err(Error::internal)?)
        .send()
        .await
        .map_err(Error::unavailable)?;
    Ok(())
}

fn attributes(kind: TableKind) -> Result<Vec<AttributeDefinition>> {
    let of_indexes = indexes(kind).iter().flat_map(|index| key_names(index));
    ["pk".into(), "sk".into()]
        .into_iter()
        .chain(of_indexes)
        .map(|name| attribute(&name))
        .collect()
}

fn further_indexes(kind: TableKind) -> Result<Vec<GlobalSecondaryIndex>> {
    let mut made = Vec::new();
    for name in indexes(kind) {
        let projection = match carried(kind, name) {
            Carried::All => Projection::builder().projection_type(ProjectionType::All),
            Carried::Keys => Projection::builder().projection_type(ProjectionType::KeysOnly),
            Carried::Summary => Projection::builder()
                .projection_type(ProjectionType::Include)
                .non_key_attributes(SUMMARY),
        };
        let [hash, range] = key_names(name);
        made.push(index(name, &hash, &range, projection.build())?);
    }
    Ok(made)
}

fn attribute(name: &str) -> Result<AttributeDefinition> {
    AttributeDefinition::builder()
        .attribute_name(name)
        .attribute_type(ScalarAttributeType::S)
        .build()
        .map_err(Error::internal)
}

fn key_schema(hash: &str, range: &str) -> Result<Vec<KeySchemaElement>> {
    [(hash, KeyType::Hash), (range, KeyType::Range)]
        .into_iter()
        .map(|(name, kind)| {
            KeySchemaElement::builder()
                .attribute_name(name)
                .key_type(kind)
                .build()
        })
        .collect::<Result<_, _>>()
        .map_err(Error::internal)
}

fn index(name: &str, hash: &str, range: &str, projection: Projection) -> Result<GlobalSecondaryIndex> {
    GlobalSecondaryIndex::builder()
        .index_name(name)
        .set_key_schema(Some(key_schema(hash, range)?))
        .projection(projection)
        .build()
        .map_err(Error::internal)
}
