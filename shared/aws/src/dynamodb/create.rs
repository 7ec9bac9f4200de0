//! Creates tables for tests, as `template.yaml` creates them in the cloud.

use std::collections::BTreeSet;

use aws_config::SdkConfig;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, TimeToLiveSpecification,
};
use platform::records::schema::{Carried, EXPIRES_AT, SUMMARY, TableKind, carried, indexes};
use platform::records::store::key_names;
use platform::{Error, Result};

/// Creates a table with the schema, unless it exists.
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
    let names: BTreeSet<_> = ["pk".into(), "sk".into()].into_iter().chain(of_indexes).collect();
    names.iter().map(|name| attribute(name)).collect()
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
