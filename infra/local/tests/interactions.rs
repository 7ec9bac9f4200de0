//! Tests interactions over the records of a data directory: loading them, finding them by each form of
//! reference, and reading the versions of their prompt templates.
#![cfg(test)]

use local::data_dir::DataDir;
use local::services::{RECORDS_TABLE, Services};
use models::Message;
use platform::records::{Table, Written};
use platform::{Clock, ErrorKind, Tenant};
use prompts::records::interactions::{Interaction, Interactions};
use prompts::records::prompts::{ContentType, PromptRecord, PromptStatus, Prompts};
use runs::interactions::InteractionResolver;
use serde_json::{Value, json};
use tempfile::TempDir;

struct World {
    _folder: TempDir,
    table: Table,
    tenant: Tenant,
    interactions: InteractionResolver,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let services = Services::open(&DataDir::open(folder.path()).unwrap()).unwrap();
        let table = services.table(RECORDS_TABLE);
        let world = Self {
            _folder: folder,
            interactions: InteractionResolver::new(table.clone()),
            tenant: Tenant::new("acme", "demo").unwrap(),
            table,
        };
        let prompts = Prompts::new(world.table.clone());
        prompts
            .insert(&world.tenant, &prompt(1, "first {{name}}"))
            .await
            .unwrap();
        let saved = prompts
            .save(&world.tenant, &mut prompt(2, "second {{name}}"))
            .await;
        assert_eq!(saved.unwrap(), Written::Done);
        world
    }

    async fn load(&self, interaction: Value) {
        let interaction: Interaction = serde_json::from_value(interaction).unwrap();
        let records = Interactions::new(self.table.clone());
        records.load(&self.tenant, &interaction).await.unwrap();
    }

    /// Returns the texts of an interaction, or the reason why it cannot be used.
    async fn texts(&self, reference: &str) -> Result<Vec<Message>, (ErrorKind, String)> {
        let resolved = self.interactions.resolve(&self.tenant, reference).await;
        let rendered =
            resolved.and_then(|resolved| self.interactions.render(&resolved, &json!({ "name": "Ada" })));
        match rendered {
            Ok(rendered) => Ok(rendered.messages),
            Err(error) => Err((error.kind(), error.message().to_owned())),
        }
    }

    async fn refusal(&self, reference: &str) -> (ErrorKind, String) {
        self.texts(reference).await.unwrap_err()
    }
}

fn prompt(version: u64, content: &str) -> PromptRecord {
    let now = Clock::System.now();
    PromptRecord {
        id: "p-1".to_owned(),
        name: "Greeting".to_owned(),
        role: "user".to_owned(),
        status: PromptStatus::Draft,
        version,
        description: None,
        content_type: ContentType::Handlebars,
        content: content.to_owned(),
        test_data: None,
        input_schema: None,
        tags: Vec::new(),
        parent: None,
        created_by: "user:a".to_owned(),
        updated_by: "user:a".to_owned(),
        created_at: now,
        updated_at: now,
        message: None,
        published_version: 0,
        revision: 0,
    }
}

fn interaction(id: &str, name: &str, prompts: Value) -> Value {
    json!({ "id": id, "name": name, "versions": [{ "version": 1, "prompts": prompts }] })
}

#[tokio::test]
async fn a_reference_is_an_id_a_name_or_built_in() {
    let world = World::new().await;
    world.load(interaction("int-1", "urgent", json!(["p-1"]))).await;
    let latest = vec![Message::user("second Ada")];
    assert_eq!(world.texts("int-1").await, Ok(latest.clone()));
    assert_eq!(world.texts("app:urgent").await, Ok(latest.clone()));
    assert_eq!(world.texts("sys:general").await, Ok(Vec::new()));
    for (reference, kind, part) in [
        ("urgent", ErrorKind::NotFound, "'app:<name>'"),
        ("app:other", ErrorKind::NotFound, "the name 'other'"),
        ("app:", ErrorKind::NotFound, "the name ''"),
        ("sys:other", ErrorKind::NotFound, "sys:classifier"),
        ("", ErrorKind::InvalidRequest, "interaction_ref"),
    ] {
        let (refused, message) = world.refusal(reference).await;
        assert_eq!(refused, kind, "{reference}");
        assert!(message.contains(part), "{message}");
    }
    world.load(interaction("int-2", "urgent", json!([]))).await;
    let (kind, message) = world.refusal("app:urgent").await;
    assert_eq!(kind, ErrorKind::Conflict);
    assert!(
        message.starts_with("2 interactions have the name 'urgent'"),
        "{message}"
    );
    world.load(interaction("int-2", "calm", json!([]))).await;
    assert_eq!(world.texts("app:urgent").await, Ok(latest));
    assert_eq!(world.texts("app:calm").await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_pinned_version_stays_and_a_deleted_template_is_named() {
    let world = World::new().await;
    let pinned = json!([{ "id": "p-1", "version": 1 }, { "id": "p-1", "version": 2 }]);
    world.load(interaction("int-1", "a", pinned)).await;
    world
        .load(interaction("int-2", "b", json!([{ "id": "p-1", "version": 3 }])))
        .await;
    world.load(interaction("int-3", "c", json!(["p-2"]))).await;
    world
        .load(json!({ "id": "int-4", "name": "d", "versions": [] }))
        .await;
    let both = vec![Message::user("first Ada"), Message::user("second Ada")];
    assert_eq!(world.texts("int-1").await, Ok(both));
    assert!(
        world
            .refusal("int-2")
            .await
            .1
            .contains("uses version 3 of the prompt template 'p-1'")
    );
    assert!(
        world
            .refusal("int-3")
            .await
            .1
            .contains("uses the prompt template 'p-2'")
    );
    assert!(world.refusal("int-4").await.1.contains("has no version"));
    let prompts = Prompts::new(world.table.clone());
    let removed = prompts.remove(&world.tenant, "p-1", None).await;
    assert_eq!(removed.unwrap(), Written::Done);
    let both = vec![Message::user("first Ada"), Message::user("second Ada")];
    assert_eq!(world.texts("int-1").await, Ok(both));
    let (kind, message) = world.refusal("int-2").await;
    assert_eq!(kind, ErrorKind::NotFound);
    assert!(message.contains("which does not exist"), "{message}");
}

#[tokio::test]
async fn draft_is_not_used_while_a_version_is_published() {
    let world = World::new().await;
    world.load(interaction("int-1", "a", json!(["p-1"]))).await;
    let prompts = Prompts::new(world.table.clone());
    let first = Ok(vec![Message::user("first Ada")]);
    let second = Ok(vec![Message::user("second Ada")]);
    assert_eq!(world.texts("int-1").await, second);
    let publish = async |version| {
        prompts
            .publish(&world.tenant, "p-1", version, Clock::System.now())
            .await
            .unwrap()
    };
    assert_eq!(publish(Some(1)).await.version, 1);
    assert_eq!(world.texts("int-1").await, first);
    let head = prompts.get(&world.tenant, "p-1").await.unwrap();
    assert_eq!((head.version, head.status), (2, PromptStatus::Draft));
    let mut third = PromptRecord {
        version: 3,
        content: "third {{name}}".to_owned(),
        ..head
    };
    assert_eq!(
        prompts.save(&world.tenant, &mut third).await.unwrap(),
        Written::Done
    );
    assert_eq!(world.texts("int-1").await, first);
    // One version is published at a time.
    publish(Some(2)).await;
    assert_eq!(world.texts("int-1").await, second);
    let first_version = prompts.version(&world.tenant, "p-1", Some(1)).await.unwrap();
    assert_eq!(first_version.status, PromptStatus::Draft);
    let removed = prompts.remove(&world.tenant, "p-1", None).await.unwrap();
    assert_eq!(removed, Written::Done);
    assert_eq!(world.texts("int-1").await, second);
}

#[tokio::test]
async fn the_latest_version_counts_with_all_that_it_says() {
    let world = World::new().await;
    let schema = json!({ "type": "object", "properties": { "n": { "type": "number" } } });
    world
        .load(json!({
            "id": "int-1", "name": "a", "description": "of all",
            "versions": [
                { "version": 2, "prompts": [{ "id": "p-1", "role": "safety" }], "model": "m", "output_schema": schema,
                  "max_output_tokens": 9, "temperature": 0.5, "tools": ["finish"],
                  "mcp_servers": [{ "name": "docs", "url": "https://example.com/mcp" }] },
                { "version": 1, "prompts": [] },
            ],
        }))
        .await;
    let resolved = world.interactions.resolve(&world.tenant, "int-1").await.unwrap();
    let record = serde_json::to_value(&resolved).unwrap();
    assert_eq!(
        record,
        json!({
            "id": "int-1", "name": "a", "version": 2, "is_system": false, "description": "of all",
            "messages": [{ "role": "system", "content_type": "handlebars", "content": "second {{name}}", "prompt": ["p-1", 2] }],
            "model": "m", "output_schema": schema, "max_output_tokens": 9, "temperature": 0.5, "tools": ["finish"],
            "mcp_servers": [{ "name": "docs", "url": "https://example.com/mcp" }],
        })
    );
    assert_eq!(
        serde_json::from_value::<runs::interactions::Resolved>(record).unwrap(),
        resolved
    );
}
