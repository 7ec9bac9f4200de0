//! Defines digests: signed lists of the files of a log, one for each hour with new files.
//!
//! A digest contains the hash of the previous one, so that the last digest proves all earlier files. It is a
//! compact JWS: any JWS library reads it with the public key alone.

mod keys;
mod model;
mod signed;

pub use keys::{PublicKey, Unreadable};
pub use model::{
    DigestFile, DigestName, ERASURE_VERSION, Erasure, FIRST_SEQUENCE, LogDigest, PreviousDigest,
    SCHEMA_VERSION, UNCOVERED_MS, UNLISTED_MARGIN_MS, digest_hour,
};
pub use signed::{KEY_ID, SignedDigest, sha256_hex, sign};
