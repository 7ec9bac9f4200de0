//! Makes the loader look for DuckDB's library in `lib` beside the program, as in the function's archive.

#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script its target by the environment"
)]
fn main() {
    let beside = match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => "@loader_path/lib",
        _ => "$ORIGIN/lib",
    };
    println!("cargo:rustc-link-arg-bins=-Wl,-rpath,{beside}");
    println!("cargo:rerun-if-changed=../../infra/duckdb/build.rs");
}
