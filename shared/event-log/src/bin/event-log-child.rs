//! Runs as a child of the engine, for the tests of this crate.

fn main() {
    lake::run_if_child();
}
