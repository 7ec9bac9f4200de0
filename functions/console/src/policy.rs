//! States what the page may load: scripts and styles of its own, and answers of the servers it needs.

use url::Url;

use crate::Settings;

/// Returns the content security policy of the page.
pub fn policy(settings: &Settings) -> String {
    let mut servers = vec!["'self'".to_owned()];
    let issuer = settings.oidc.as_ref().map(|oidc| oidc.issuer.as_str());
    let named = [Some(settings.ingest_url.as_str()), issuer];
    let named = named
        .into_iter()
        .flatten()
        .chain(settings.connect.iter().map(String::as_str));
    for origin in named.filter_map(origin) {
        if !servers.contains(&origin) {
            servers.push(origin);
        }
    }
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src {}; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        servers.join(" ")
    )
}

/// Returns the origin of an absolute URL.
fn origin(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    url.has_host().then(|| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Oidc;

    #[test]
    fn the_page_reaches_the_named_servers_and_runs_no_text() {
        let settings = Settings {
            ingest_url: "https://abc.lambda-url.eu-central-1.on.aws/".to_owned(),
            oidc: Some(Oidc {
                issuer: "https://login.example/tenant".to_owned(),
                client_id: "console".to_owned(),
                scope: "openid".to_owned(),
                audience: None,
            }),
            connect: vec![
                "https://data.s3.eu-central-1.amazonaws.com".to_owned(),
                "no url".to_owned(),
            ],
            ..Settings::default()
        };
        let policy = policy(&settings);
        assert!(policy.contains(
            "connect-src 'self' https://abc.lambda-url.eu-central-1.on.aws https://login.example \
             https://data.s3.eu-central-1.amazonaws.com;"
        ));
        assert!(!policy.contains("unsafe") && !policy.contains('*'));
    }
}
