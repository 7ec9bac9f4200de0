//! Signs links to objects in files: URLs that need no credentials, and expire.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use platform::config::Secret;
use platform::{Clock, Error, Result};
use sha2::Sha256;
use url::form_urlencoded::{Serializer, parse};

/// Path of the route that serves links, below the base URL; the bucket and the key follow it.
pub const LINKS_PATH: &str = "/objects";

/// Creates and verifies links.
#[derive(Debug)]
pub struct Links {
    base_url: String,
    key: Secret,
    clock: Clock,
}

impl Links {
    /// `base_url` is the public address of the route that serves links. `key` gives access to every object.
    pub fn new(base_url: &str, key: Secret, clock: Clock) -> Self {
        Self {
            base_url: base_url.trim_end_matches('/').to_owned(),
            key,
            clock,
        }
    }

    pub(super) fn link(
        &self,
        bucket: &str,
        key: &str,
        lifetime: Duration,
        file_name: &str,
    ) -> Result<String> {
        if matches!(key, "." | "..") {
            return Err(no_url());
        }
        let expires = self.expiry(lifetime);
        let signature = self
            .mac(&[bucket, key, &expires, file_name])?
            .finalize()
            .into_bytes();
        let query = Serializer::new(String::new())
            .append_pair("expires", &expires)
            .append_pair("file_name", file_name)
            .append_pair("signature", &hex::encode(signature))
            .finish();
        Ok(self.url(bucket, key, &query))
    }

    /// Returns a link that writes an object of exactly `bytes` bytes.
    pub(super) fn upload_link(
        &self,
        bucket: &str,
        key: &str,
        lifetime: Duration,
        bytes: u64,
    ) -> Result<String> {
        if matches!(key, "." | "..") {
            return Err(no_url());
        }
        let (expires, bytes) = (self.expiry(lifetime), bytes.to_string());
        let signature = self.upload_mac(bucket, key, &expires, &bytes)?.finalize();
        let query = Serializer::new(String::new())
            .append_pair("expires", &expires)
            .append_pair("bytes", &bytes)
            .append_pair("signature", &hex::encode(signature.into_bytes()))
            .finish();
        Ok(self.url(bucket, key, &query))
    }

    fn expiry(&self, lifetime: Duration) -> String {
        let lifetime_ms = u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX);
        self.clock.now().plus_ms(lifetime_ms).as_seconds().to_string()
    }

    fn url(&self, bucket: &str, key: &str, query: &str) -> String {
        let (bucket, key) = (url_part(bucket), url_path(key));
        format!("{}{LINKS_PATH}/{bucket}/{key}?{query}", self.base_url)
    }

    /// Verifies the query of a link, and returns the file name. 403 if its signature is invalid or it has
    /// expired.
    pub fn verify(&self, bucket: &str, key: &str, query: &str) -> Result<String> {
        let (mut expires, mut file_name, mut signature) = (String::new(), String::new(), String::new());
        for (name, value) in parse(query.as_bytes()) {
            match &*name {
                "expires" => expires = value.into_owned(),
                "file_name" => file_name = value.into_owned(),
                "signature" => signature = value.into_owned(),
                _ => {}
            }
        }
        let shown = hex::decode(signature).unwrap_or_default();
        let mac = self.mac(&[bucket, key, &expires, &file_name])?;
        self.check(mac, &shown, &expires)?;
        Ok(file_name)
    }

    /// Verifies the query of an upload link, and returns the size of the object. 403 if its signature is
    /// invalid or it has expired.
    pub fn verify_upload(&self, bucket: &str, key: &str, query: &str) -> Result<u64> {
        let (mut expires, mut bytes, mut signature) = (String::new(), String::new(), String::new());
        for (name, value) in parse(query.as_bytes()) {
            match &*name {
                "expires" => expires = value.into_owned(),
                "bytes" => bytes = value.into_owned(),
                "signature" => signature = value.into_owned(),
                _ => {}
            }
        }
        let shown = hex::decode(signature).unwrap_or_default();
        let mac = self.upload_mac(bucket, key, &expires, &bytes)?;
        self.check(mac, &shown, &expires)?;
        bytes.parse().map_err(Error::internal)
    }

    fn check(&self, mac: Hmac<Sha256>, shown: &[u8], expires: &str) -> Result<()> {
        // Compares in constant time.
        if mac.verify_slice(shown).is_err() {
            return Err(Error::forbidden(
                "The signature of this link does not hold; ask for a new link, and follow it unchanged.",
            ));
        }
        if !expires
            .parse()
            .is_ok_and(|expires| self.clock.now().as_seconds() < expires)
        {
            return Err(Error::forbidden("This link has expired; ask for a new one."));
        }
        Ok(())
    }

    /// Has one part more than the signature of a link that reads, so that neither holds for the other.
    fn upload_mac(&self, bucket: &str, key: &str, expires: &str, bytes: &str) -> Result<Hmac<Sha256>> {
        self.mac(&["PUT", bucket, key, expires, bytes])
    }

    fn mac(&self, parts: &[&str]) -> Result<Hmac<Sha256>> {
        let secret = self.key.expose().as_bytes();
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).map_err(Error::internal)?;
        for part in parts {
            // With the length, so that bytes cannot move from one part to the next.
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        Ok(mac)
    }
}

fn no_url() -> Error {
    Error::internal("there is no URL of an object whose whole key is dots")
}

/// Writes a key as the end of a URL's path. Clients resolve `.`, `..` and empty segments, so these are never
/// segments of their own.
fn url_path(key: &str) -> String {
    let is_ordinary = |segment: &str| !matches!(segment, "" | "." | "..");
    let mut path = String::new();
    let mut before = None;
    for segment in key.split('/') {
        if let Some(before) = before {
            let both = is_ordinary(before) && is_ordinary(segment);
            path.push_str(if both { "/" } else { "%2F" });
        }
        path.push_str(&url_part(segment));
        before = Some(segment);
    }
    path
}

fn url_part(text: &str) -> String {
    // The only difference from the escapes of a path.
    let escaped: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    escaped.replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIME: Duration = Duration::from_secs(900);

    fn links(clock: &Clock) -> Links {
        Links::new("http://127.0.0.1:1/", Secret::new("key"), clock.clone())
    }

    fn query(link: &str) -> &str {
        link.split_once('?').unwrap().1
    }

    #[test]
    fn a_link_holds_for_its_object_and_its_time() {
        let clock = Clock::manual("2026-01-02T00:00:00Z".parse().unwrap());
        let links = links(&clock);
        let link = links.link("data", "a/b c.zip", LIFETIME, "ü \"q\".zip").unwrap();
        let before = "http://127.0.0.1:1/objects/data/a/b%20c.zip?expires=1767312900&file_name=";
        assert!(link.starts_with(before), "{link}");
        assert_eq!(
            links.verify("data", "a/b c.zip", query(&link)).unwrap(),
            "ü \"q\".zip"
        );
        clock.advance_ms(899_999);
        links.verify("data", "a/b c.zip", query(&link)).unwrap();
        clock.advance_ms(1);
        let refusal = links.verify("data", "a/b c.zip", query(&link)).unwrap_err();
        assert_eq!(refusal.status(), 403);
        assert!(refusal.message().contains("expired"), "{}", refusal.message());
    }

    #[test]
    fn no_part_of_a_link_can_be_changed() {
        let clock = Clock::manual("2026-01-02T00:00:00Z".parse().unwrap());
        let links = links(&clock);
        let link = links.link("data", "a/b", LIFETIME, "b.zip").unwrap();
        let query = query(&link);
        let (unsigned, signature) = query.split_once("&signature=").unwrap();
        for (bucket, key, query) in [
            ("other", "a/b", query.to_owned()),
            ("data", "a/c", query.to_owned()),
            ("dataa", "/b", query.to_owned()),
            ("data", "a/b", query.replace("b.zip", "c.zip")),
            ("data", "a/b", query.replace("expires=1", "expires=2")),
            ("data", "a/b", unsigned.to_owned()),
            ("data", "a/b", format!("{unsigned}&signature=")),
            ("data", "a/b", format!("{unsigned}&signature={}", &signature[2..])),
            ("data", "a/b", format!("{query}&expires=9999999999")),
            ("data", "a/b", String::new()),
        ] {
            let refusal = links.verify(bucket, key, &query).unwrap_err();
            assert_eq!(refusal.status(), 403, "{bucket} {key} {query}");
            assert!(refusal.message().contains("signature"), "{bucket} {key} {query}");
        }
        let others = Links::new("http://127.0.0.1:1", Secret::new("another"), clock);
        assert!(others.verify("data", "a/b", query).is_err());
    }

    #[test]
    fn an_upload_link_holds_for_one_object_and_size_alone() {
        let clock = Clock::manual("2026-01-02T00:00:00Z".parse().unwrap());
        let links = links(&clock);
        let link = links.upload_link("data", "a/b", LIFETIME, 12).unwrap();
        let read = links.link("data", "a/b", LIFETIME, "12").unwrap();
        let query = query(&link);
        assert_eq!(links.verify_upload("data", "a/b", query).unwrap(), 12);
        assert_eq!(links.verify("data", "a/b", query).unwrap_err().status(), 403);
        for (bucket, key, query) in [
            ("other", "a/b", query.to_owned()),
            ("data", "a/c", query.to_owned()),
            ("data", "a/b", query.replace("bytes=12", "bytes=13")),
            ("data", "a/b", query.replace("expires=1", "expires=2")),
            ("data", "a/b", read.split_once('?').unwrap().1.to_owned()),
            ("data", "a/b", String::new()),
        ] {
            let refusal = links.verify_upload(bucket, key, &query).unwrap_err();
            assert!(refusal.message().contains("signature"), "{bucket} {key} {query}");
        }
        clock.advance_ms(900_000);
        let refusal = links.verify_upload("data", "a/b", query).unwrap_err();
        assert!(refusal.message().contains("expired"), "{}", refusal.message());
    }

    #[test]
    fn a_key_is_one_path() {
        for (key, path) in [
            ("a/b", "a/b"),
            ("a/", "a%2F"),
            ("/a", "%2Fa"),
            ("a//b", "a%2F%2Fb"),
            ("a/../b", "a%2F..%2Fb"),
            ("%2F+ü?#", "%252F%2B%C3%BC%3F%23"),
        ] {
            assert_eq!(url_path(key), path);
        }
    }
}
