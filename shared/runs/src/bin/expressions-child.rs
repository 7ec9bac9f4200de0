//! A child that evaluates expressions, for the tests of this crate.

fn main() {
    process::expression::run_if_child();
}
