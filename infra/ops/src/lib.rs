//! The operator's command, `millrace ops`; one subcommand per file.

mod artifact;
mod audit;
mod backup;
mod check;
mod delivery;
mod env;
mod event;
mod input;
mod interaction;
mod key;
mod member;
mod model;
mod output;
mod process;
mod project;
mod prompt;
mod receiver;
mod restore;
mod run;
mod secret;
mod service_key;
mod signing_keys;
mod store;
mod subscription;
mod target;
mod tenant;
mod token;
mod whoami;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use output::Output;
use platform::{Error, Result};
use target::TargetArguments;

/// The operator's command: tokens, API keys, publishing, starting runs, loading and checking.
///
/// Works on the data directory of the local runner, whether the runner is running or not, or on a deployed
/// stage.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    target: TargetArguments,
    /// Prints JSON, for scripts.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = r#"Examples, each after `millrace ops`:
  env                                       what a shell needs to call the local runner: eval "$(millrace ops env)"
  token                                     a token for the local runner
  token --roles reader --project other      the same, of a user who may only read
  key create ci --roles automation          an API key, shown once
  member add 'auth0|64fe' --roles developer   a user of an identity provider as a member of the project
  whoami --token -                          what a token on standard input means here
  prompt publish <id>                       publish the current version of a prompt template
  interaction load interactions.json        load prompts with a model, for conditions and agents
  process load order.yaml                   store a process, which subscriptions name as its namespace/name
  secret set shop --value-file f --for shop/order --host api.shop.example
                                          a secret that a process sends to a host; its value is never an argument
  artifact put sales.csv out/sales.csv      a file for an import with the source 'artifact'
  artifact list uploads/                    the files that were uploaded, each to remove with 'artifact remove'
  project shards 4                          spread a project's listings over more partitions of DynamoDB
  store compact <id>                        merge the small files of a data store
  store collect --keep-versions-days 90     remove what nothing needs any longer
  run start Steps steps:=3                  start a workflow run of the local runner's sample type
  run list --query "WorkflowType = 'Steps'" list workflow runs
  event match --file event.json             say which subscriptions match an event, and why the others do not
  delivery list --status failed             what was not delivered
  delivery redrive --subscription <id>      try that again
  receiver --secret whsec_…                 receive webhooks on port 4000 and print them
  model                                     stand in for a language model on port 4010
  audit verify copy --key audit-key.pem --notes digests.txt
                                          check a copy of the log against its signed digests
  audit key --rotate                        replace the key of the digests; with it, sign each log
  audit export --from 2026-11-01 --to 2026-11-30 --format csv audit.csv
                                          the audit records of a month; --kind events for events
  check                                     hold the stored data against the invariants
  backup millrace.tar.zst                   copy records, objects and keys to one file, while the runner runs
  restore millrace.tar.zst --data-dir new   make a data directory of such a file
  tenant export --project old old-project   write everything of a project into a folder
  tenant erase --project old                say what would be erased; with --yes, erase it

A deployed stage is named by its environment: set MILLRACE_RECORDS_TABLE, MILLRACE_AUDIT_TABLE,
MILLRACE_RUNS_TABLE, MILLRACE_EVENTS_TABLE, MILLRACE_TASK_QUEUE, MILLRACE_EVENT_BUS and MILLRACE_DATA_BUCKET (the
stack's outputs) and add --deployed; credentials and region are the AWS SDK's."#;

#[derive(Subcommand)]
enum Command {
    /// Prints the variables that a shell needs to call the local runner: its API, its ingest base and a
    /// token.
    Env,
    /// Prints an access token for the local runner.
    Token(token::TokenArguments),
    /// Says what a token means: which claim became what, or what is missing; without a token, where the keys
    /// are.
    Whoami(whoami::WhoamiArguments),
    /// Users who are members of the project.
    #[command(subcommand)]
    Member(member::MemberCommand),
    /// API keys.
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Prints the keys that sign and verify the service tokens of workflow runs.
    ServiceKey(service_key::ServiceKeyArguments),
    /// Prompt templates.
    #[command(subcommand)]
    Prompt(prompt::PromptCommand),
    /// Interactions.
    #[command(subcommand)]
    Interaction(interaction::InteractionCommand),
    /// Stored processes.
    #[command(subcommand)]
    Process(process::ProcessCommand),
    /// Secrets that processes and MCP servers use.
    #[command(subcommand)]
    Secret(secret::SecretCommand),
    /// Settings of a project.
    #[command(subcommand)]
    Project(project::ProjectCommand),
    /// The upkeep of data stores.
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Workflow runs.
    #[command(subcommand)]
    Run(run::RunCommand),
    /// Events.
    #[command(subcommand)]
    Event(event::EventCommand),
    /// Deliveries of events to subscriptions.
    #[command(subcommand)]
    Delivery(delivery::DeliveryCommand),
    /// Event subscriptions of the platform.
    #[command(subcommand)]
    Subscription(subscription::SubscriptionCommand),
    /// Files that imports read.
    #[command(subcommand)]
    Artifact(artifact::ArtifactCommand),
    /// The log of events and audit records.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Checks the invariants of the stored data.
    Check,
    /// Copies the data directory to one new file, whether the runner is running or not.
    Backup(backup::BackupArguments),
    /// Makes a new data directory from a backup.
    Restore(restore::RestoreArguments),
    /// Everything of a project at once.
    #[command(subcommand)]
    Tenant(tenant::TenantCommand),
    /// Receives webhooks on this machine and prints them.
    Receiver(receiver::ReceiverArguments),
    /// Serves a stand-in for a language model on this machine, to try agents and semantic conditions.
    Model(model::ModelArguments),
}

/// Runs a command to its end. A child process of data stores must have been started before by `main`.
#[tokio::main]
pub async fn run(arguments: Arguments) -> ExitCode {
    let output = Output { json: arguments.json };
    match dispatch(arguments, output).await {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "millrace ops: {}", message(&error));
            ExitCode::FAILURE
        }
    }
}

/// Returns the message of a refusal, and all details of a fault. The logged text omits quoted data.
fn message(error: &Error) -> String {
    let faults = error.faults().iter();
    let faults: String = faults
        .map(|fault| format!("\n  {}: {}", fault.pointer, fault.message))
        .collect();
    if !faults.is_empty() {
        return format!("{}{faults}", error.message());
    }
    match (error.status() < 500, error.details()) {
        (true, Some(details)) => format!("{} ({details})", error.message()),
        (true, None) => error.message().to_owned(),
        (false, _) => error.to_string(),
    }
}

async fn dispatch(arguments: Arguments, output: Output) -> Result<ExitCode> {
    let target = &arguments.target;
    match arguments.command {
        Command::Receiver(command) => receiver::run(command).await?,
        Command::Model(command) => model::run(command).await?,
        Command::Backup(command) => backup::run(command, target, output).await?,
        Command::Restore(command) => restore::run(command, target, output).await?,
        Command::Env => env::run(target, output)?,
        Command::Token(command) => token::run(&command, target, output)?,
        Command::Whoami(command) => return whoami::run(command, target, output).await,
        Command::Member(command) => member::run(command, &target.open().await?, output).await?,
        Command::Key(command) => key::run(command, &target.open().await?, output).await?,
        Command::ServiceKey(command) => service_key::run(&command, target, output).await?,
        Command::Prompt(command) => prompt::run(command, &target.open().await?, output).await?,
        Command::Interaction(command) => interaction::run(command, &target.open().await?, output).await?,
        Command::Process(command) => process::run(command, &target.open().await?, output).await?,
        Command::Secret(command) => secret::run(command, &target.open().await?, output).await?,
        Command::Project(command) => project::run(command, &target.open().await?, output).await?,
        Command::Audit(command) => return audit::run(command, target, output).await,
        Command::Tenant(command) => tenant::run(command, target, output).await?,
        Command::Store(command) => store::run(command, &target.open().await?, output).await?,
        Command::Run(command) => run::run(command, &target.open().await?, output).await?,
        Command::Event(command) => event::run(command, &target.open().await?, output).await?,
        Command::Delivery(command) => delivery::run(command, &target.open().await?, output).await?,
        Command::Subscription(command) => subscription::run(command, &target.open().await?, output).await?,
        Command::Artifact(command) => artifact::run(command, &target.open().await?, output).await?,
        Command::Check => return check::run(&target.open().await?, output).await,
    }
    Ok(ExitCode::SUCCESS)
}
