//! Child process for the tests of this crate.

fn main() {
    process::expression::run_if_child();
}
