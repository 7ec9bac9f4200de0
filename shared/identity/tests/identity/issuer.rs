//! Issues tokens, as identity providers do.

use std::path::Path;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::Value;

pub struct Issuer {
    pub key: EncodingKey,
    pub algorithm: Algorithm,
    pub id: String,
}

fn rsa() -> EncodingKey {
    let der: Pkcs8V1Der<'_> = RsaKeyPair::generate(KeySize::Rsa2048).unwrap().as_der().unwrap();
    let pem = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        STANDARD.encode(der.as_ref())
    );
    EncodingKey::from_rsa_pem(pem.as_bytes()).unwrap()
}

impl Issuer {
    pub fn new(algorithm: Algorithm, id: &str) -> Self {
        let random = SystemRandom::new();
        let key = match algorithm {
            Algorithm::RS256 => rsa(),
            Algorithm::ES256 => EncodingKey::from_ec_der(
                EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
                    .unwrap()
                    .as_ref(),
            ),
            _ => EncodingKey::from_ed_der(Ed25519KeyPair::generate_pkcs8v1(&random).unwrap().as_ref()),
        };
        Self {
            key,
            algorithm,
            id: id.to_owned(),
        }
    }

    pub fn jwk(&self) -> Jwk {
        let mut jwk = Jwk::from_encoding_key(&self.key, self.algorithm).unwrap();
        jwk.common.key_id = Some(self.id.clone());
        jwk
    }

    pub fn token(&self, claims: &Value) -> String {
        let mut header = Header::new(self.algorithm);
        header.kid = Some(self.id.clone());
        encode(&header, claims, &self.key).unwrap()
    }
}

pub fn write_keys(path: &Path, issuers: &[&Issuer]) {
    let set = JwkSet {
        keys: issuers.iter().map(|issuer| issuer.jwk()).collect(),
    };
    std::fs::write(path, serde_json::to_vec(&set).unwrap()).unwrap();
}
