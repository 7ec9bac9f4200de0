//! Runs as a child of the engine in the tests of this crate, whose own program is the test runner.

fn main() {
    lake::run_if_child();
}
