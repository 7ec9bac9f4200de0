//! The one key schema that every table has, for whoever makes tables: the local runner and the tests. In the cloud
//! `template.yaml` makes them.

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TimeToLiveSpecification,
};

use crate::error::{Error, Result};

/// The attribute that ends an item's life, in seconds since the Unix epoch.
pub const EXPIRES_AT: &str = "expires_at";

/// Index `gsi1`, for a second way to ask.
pub const GSI1: &str = "gsi1";

/// Sparse index of unfinished work, by the time at which somebody should look at it.
pub const DUE: &str = "due";

/// Makes a table with the schema unless it exists.
pub async fn create_table(sdk: &SdkConfig, name: &str) -> Result<()> {
    let client = Client::new(sdk);
    if client.describe_table().table_name(name).send().await.is_ok() {
        return Ok(());
    }
    let created = client
        .create_table()
        .table_name(name)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(
            ["pk", "sk", "gsi1pk", "gsi1sk", "due_shard", "due_at"]
                .into_iter()
                .map(attribute)
                .collect::<Result<_>>()?,
        ))
        .set_key_schema(Some(key_schema("pk", "sk")?))
        .global_secondary_indexes(index(GSI1, "gsi1pk", "gsi1sk")?)
        .global_secondary_indexes(index(DUE, "due_shard", "due_at")?)
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

fn index(name: &str, hash: &str, range: &str) -> Result<GlobalSecondaryIndex> {
    GlobalSecondaryIndex::builder()
        .index_name(name)
        .set_key_schema(Some(key_schema(hash, range)?))
        .projection(Projection::builder().projection_type(ProjectionType::All).build())
        .build()
        .map_err(Error::internal)
}
