//! Tests that the commands of `docs/tour.md` and of the README print what these show. `TOUR_WRITE=1` writes
//! the outputs of the tour anew.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use tests::Service;
use tests::stand_in::StandIn;
use tests::tour::{PAGE, Place, README, Step, comparable, is_to_be_written, outputs, steps, with_outputs};

/// How much longer than on the page each `sleep` takes, try by try: the pages wait as people do, and the
/// machine may be busy.
const PATIENCE: [u32; 3] = [1, 4, 16];

#[tokio::test]
async fn every_command_prints_what_the_page_shows_locally() {
    let model = StandIn::start();
    let variables = model.variables();
    let page = fs::read_to_string(PAGE).unwrap();
    let steps = steps(&page);
    assert!(
        steps.len() > 10,
        "the page has only {} blocks of commands",
        steps.len()
    );
    if is_to_be_written() {
        let printed = run(&steps, &variables, 4).await;
        fs::write(PAGE, with_outputs(&page, &steps, &printed)).unwrap();
        return;
    }
    check(&steps, &variables).await;
}

#[tokio::test]
async fn the_readme_prints_what_it_shows_locally() {
    let mut steps = steps(&fs::read_to_string(README).unwrap());
    steps.retain(|step| step.commands.contains("millrace ops env"));
    assert_eq!(steps.len(), 1);
    check(&steps, &[]).await;
}

/// Compares what the commands print with the page, from the beginning again if they differ.
async fn check(steps: &[Step], variables: &[(&str, &str)]) {
    let mut differences = Vec::new();
    for patience in PATIENCE {
        let printed = run(steps, variables, patience).await;
        assert_eq!(printed.len(), steps.len(), "the shell stopped: {printed:?}");
        let pairs = steps.iter().zip(&printed);
        let differs = |(step, printed): &(&Step, &String)| comparable(&step.output) != comparable(printed);
        differences = pairs
            .filter(differs)
            .map(|(step, printed)| format!("{}\nprint\n{printed}\nand not\n{}", step.commands, step.output))
            .collect();
        if differences.is_empty() {
            return;
        }
    }
    panic!("{}", differences.join("\n\n"));
}

async fn run(steps: &[Step], variables: &[(&str, &str)], patience: u32) -> Vec<String> {
    for program in ["bash", "curl", "jq", "openssl"] {
        let version = Command::new(program).arg("--version").output();
        assert!(
            version.is_ok(),
            "the commands need {program}, which is not installed"
        );
    }
    let service = Service::start_local_with(variables).await;
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    outputs(
        steps,
        &Place {
            data_dir: &service.data_dir(),
            folder: service.folder(),
            receiver_port: free.port(),
        },
        patience,
    )
}
