//! The black-box suite and the benchmarks.
