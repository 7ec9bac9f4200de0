//! Tests the archiver over the local records and objects: every record is in the files once, wherever a pass
//! crashes.
#![cfg(test)]

mod crashes;
mod digests;
mod erasure;
mod export;
mod listing;
mod merging;
mod receipt;
mod records;
mod retention;
mod world;
