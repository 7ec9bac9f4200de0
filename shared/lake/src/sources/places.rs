//! Restricts imports from object stores to the places that the operator opened, separately for each tenant.
//!
//! `s3://uploads/{account}/{project}/,gs://exports/{account}/`: a place is a bucket or a folder in it. A
//! placeholder stands for a whole folder name, so no tenant's place equals, or is a prefix of, another
//! tenant's.

use platform::Tenant;
use platform::config::ConfigError;
use platform::objects::remote::{Place, SourceError};

/// Maximum length of an object's name, in bytes.
const MAX_KEY_BYTES: usize = 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    S3,
    Gcs,
}

impl Service {
    const ALL: [Self; 2] = [Self::S3, Self::Gcs];

    const fn scheme(self) -> &'static str {
        match self {
            Self::S3 => "s3://",
            Self::Gcs => "gs://",
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::S3 => "S3",
            Self::Gcs => "Google Cloud Storage",
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(Vec<(Service, String)>);

impl Places {
    /// Parses a comma-separated list.
    pub fn read(list: &str) -> Result<Self, ConfigError> {
        let entries = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        entries.map(read_place).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn any_of(&self, service: Service) -> bool {
        self.0.iter().any(|(other, _)| *other == service)
    }

    /// Returns the object of `uri`, if it is in a place that is open to the tenant.
    pub(super) fn find<'a>(
        &self,
        tenant: &Tenant,
        service: Service,
        uri: &'a str,
    ) -> Result<Place<'a>, SourceError> {
        let place = parse(service, uri)?;
        let open = self.0.iter().filter(|(other, _)| *other == service);
        let open: Vec<_> = open.map(|(_, pattern)| of_tenant(pattern, tenant)).collect();
        if open.iter().any(|prefix| uri.starts_with(prefix)) {
            return Ok(place);
        }
        let name = service.name();
        Err(SourceError::NotOpen(if open.is_empty() {
            format!(
                "imports may read nothing of {name} here; ask the operator to open a place by MILLRACE_IMPORT_BUCKETS"
            )
        } else {
            format!(
                "imports of this project may read of {name} only what is below {}; put the file there, or ask the operator to \
                 open its place by MILLRACE_IMPORT_BUCKETS",
                open.join(" and ")
            )
        }))
    }
}

fn of_tenant(pattern: &str, tenant: &Tenant) -> String {
    pattern
        .replace("{account}", tenant.account())
        .replace("{project}", tenant.project())
}

fn read_place(entry: &str) -> Result<(Service, String), ConfigError> {
    let wrong = |why: &str| {
        ConfigError::new(format!(
            "The variable MILLRACE_IMPORT_BUCKETS holds '{entry}', {why}. Set it to places such as \
             s3://uploads/{{account}}/{{project}}/."
        ))
    };
    let service = Service::ALL
        .into_iter()
        .find(|service| entry.starts_with(service.scheme()))
        .ok_or_else(|| wrong("which begins with neither s3:// nor gs://"))?;
    let rest = entry.get(service.scheme().len()..).unwrap_or_default();
    let Some(folders) = rest.strip_suffix('/') else {
        return Err(wrong("which does not end with a /"));
    };
    for (index, part) in folders.split('/').enumerate() {
        let is_placeholder = matches!(part, "{account}" | "{project}");
        if part.is_empty() || matches!(part, "." | "..") {
            return Err(wrong("which names an empty folder, or . or .."));
        }
        if part.contains(['{', '}']) && (index == 0 || !is_placeholder) {
            return Err(wrong(
                "where something else than a whole folder name stands in braces",
            ));
        }
    }
    Ok((service, entry.to_owned()))
}

/// Splits a URI into bucket and key.
fn parse(service: Service, uri: &str) -> Result<Place<'_>, SourceError> {
    let scheme = service.scheme();
    let malformed = |why: String| Err(SourceError::Malformed(why));
    let parts = uri.strip_prefix(scheme).and_then(|rest| rest.split_once('/'));
    let Some((bucket, key)) = parts else {
        return malformed(format!(
            "it must be written as {scheme}<bucket>/<name of the file>"
        ));
    };
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte);
    if !(3..=222).contains(&bucket.len()) || !bucket.bytes().all(is_letter) || bucket.contains("..") {
        return malformed(format!("it names no bucket of {}", service.name()));
    }
    let fits =
        |part: &str| !part.is_empty() && part != "." && part != ".." && !part.chars().any(char::is_control);
    if key.len() > MAX_KEY_BYTES || !key.split('/').all(fits) {
        return malformed(format!(
            "the name of its file is longer than {MAX_KEY_BYTES} bytes, or holds an empty part, . or .., or a control character"
        ));
    }
    Ok(Place { bucket, key })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant() -> Tenant {
        Tenant::new("acme", "demo").unwrap()
    }

    fn found<'a>(places: &str, service: Service, uri: &'a str) -> Result<Place<'a>, String> {
        let places = Places::read(places).unwrap();
        places
            .find(&tenant(), service, uri)
            .map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn nothing_is_open_by_default() {
        for (service, uri) in [
            (Service::S3, "s3://uploads/a.csv"),
            (Service::Gcs, "gs://uploads/a.csv"),
        ] {
            let refusal = found("", service, uri).unwrap_err();
            assert!(
                refusal.contains("NotOpen") && refusal.contains("nothing"),
                "{refusal}"
            );
        }
    }

    #[test]
    fn a_tenant_reads_its_own_places_and_no_other() {
        let places = "s3://uploads/{account}/{project}/, s3://shared/all/,gs://exports/{account}/";
        for (service, uri) in [
            (Service::S3, "s3://uploads/acme/demo/a.csv"),
            (Service::S3, "s3://uploads/acme/demo/deep/er/a b.csv"),
            (Service::S3, "s3://shared/all/a.csv"),
            (Service::Gcs, "gs://exports/acme/any/a.csv"),
        ] {
            assert!(found(places, service, uri).is_ok(), "{uri}");
        }
        for (service, uri) in [
            (Service::S3, "s3://uploads/acme/other/a.csv"),
            (Service::S3, "s3://uploads/acme/demo2/a.csv"),
            (Service::S3, "s3://uploads/acme2/demo/a.csv"),
            (Service::S3, "s3://uploads/{account}/{project}/a.csv"),
            (Service::S3, "s3://shared/allied/a.csv"),
            (Service::S3, "s3://shared2/all/a.csv"),
            (Service::S3, "s3://exports/acme/a.csv"),
            (Service::Gcs, "gs://uploads/acme/demo/a.csv"),
        ] {
            let refusal = found(places, service, uri).unwrap_err();
            assert!(refusal.contains("NotOpen"), "{uri}: {refusal}");
        }
    }

    #[test]
    fn invalid_object_addresses_are_refused() {
        for uri in [
            "",
            "s3://",
            "s3://uploads",
            "s3://uploads/",
            "gs://uploads/a.csv",
            "S3://uploads/a.csv",
            "https://uploads/a.csv",
            "s3:///a.csv",
            "s3://up/a.csv",
            "s3://Up loads/a.csv",
            "s3://user@uploads/a.csv",
            "s3://uploads/a/../../other/a.csv",
            "s3://uploads/./a.csv",
            "s3://uploads//a.csv",
            "s3://uploads/a\n.csv",
        ] {
            let refusal = found("s3://uploads/", Service::S3, uri).unwrap_err();
            assert!(refusal.contains("Malformed"), "{uri}: {refusal}");
        }
    }

    #[test]
    fn a_place_that_could_leak_stops_the_start() {
        for entry in [
            "uploads/",
            "https://uploads/",
            "s3://",
            "s3:///",
            "s3://uploads",
            "s3://uploads/{account}",
            "s3://uploads/{account}-x/",
            "s3://uploads/{account}{project}/",
            "s3://{account}/",
            "s3://uploads/{tenant}/",
            "s3://uploads/../",
            "s3://uploads//",
        ] {
            let refusal = Places::read(entry).unwrap_err().to_string();
            assert!(
                refusal.contains(entry) && refusal.contains("Set it to"),
                "{refusal}"
            );
        }
    }
}
