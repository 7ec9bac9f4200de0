//! Defines digests: signed lists of the files of a log, one for each hour with new files.
//!
//! A digest contains the hash of the previous one, so that the last digest proves all earlier files. It is a
//! compact JWS: any JWS library reads it with the public key alone. It names its key by `kid`.
//!
//! A key can be replaced. The first digest of the new key contains the hash of the last one of the old key,
//! so the new key attests what the old one signed, and that it signed it. Each log gets such a digest, also
//! one without new files.

mod keys;
mod model;
mod signed;

pub use keys::{DigestOfKey, PublicKeys, Unreadable};
pub use model::{
    DigestFile, DigestName, ERASURE_VERSION, Erasure, FIRST_SEQUENCE, LogDigest, PreviousDigest,
    SCHEMA_VERSION, UNCOVERED_MS, UNLISTED_MARGIN_MS, digest_hour,
};
pub use signed::{SignedDigest, sha256_hex, sign};
