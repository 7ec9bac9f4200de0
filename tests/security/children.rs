//! Tests that child processes are fenced by the operating system; what that refuses is tested beside it, in
//! `shared/sandbox` and `shared/lake`.

use tests::Service;

#[tokio::test]
async fn start_logs_once_which_fences_hold_locally() {
    let service = Service::start_local_with(&[("MILLRACE_LOG", "info")]).await;
    let log = service.log();
    let lines: Vec<_> = log
        .lines()
        .filter(|line| line.contains("fences of the operating system around child processes"))
        .collect();
    let [line] = lines[..] else {
        panic!("{lines:?}");
    };
    let is_linux = cfg!(target_os = "linux");
    assert!(line.contains(&format!("system_calls={is_linux}")), "{line}");
    assert!(line.contains("files="), "{line}");
}
