//! The archiver over the twins of DynamoDB and S3: every record is in the files once, whatever a pass dies
//! of.
#![cfg(test)]

mod crashes;
mod digests;
mod listing;
mod merging;
mod records;
mod retention;
mod world;
