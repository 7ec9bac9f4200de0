//! The smallest program that can be a child of the engine: for the tests of this crate, whose own program is
//! the test runner.

fn main() {
    lake::run_if_child();
}
