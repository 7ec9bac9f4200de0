//! Checks URLs before any network access.

use hyper::Uri;
use url::Url;

use super::error::OutboundError;
use super::rules::{Policy, Rules};

/// Maximum length of a URL, in bytes; signed URLs are long.
pub const MAX_URL_BYTES: usize = 4_000;

/// Ports from 1024 on of services that do not speak HTTP, or speak it only to their own machines: those that
/// browsers refuse, and databases, queues, caches and control planes.
const SERVICE_PORTS: [u16; 46] = [
    1433, 1434, 1521, 1719, 1720, 1723, 2049, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 4369,
    5060, 5061, 5432, 5671, 5672, 5900, 5984, 5985, 5986, 6000, 6379, 6443, 6566, 6665, 6666, 6667, 6668,
    6669, 6697, 9042, 9092, 9200, 9300, 10080, 10250, 11211, 27017, 27018, 27019,
];

/// Suffixes that no public service has: RFC 6761, 6762, 8375 and 9476, suffixes reserved by ICANN, and
/// cluster names.
const INTERNAL_ENDS: [&str; 12] = [
    "corp",
    "home",
    "home.arpa",
    "internal",
    "intranet",
    "lan",
    "local",
    "localdomain",
    "localhost",
    "mail",
    "private",
    "svc",
];
/// Names of metadata services below public suffixes.
const METADATA_NAMES: [&str; 4] = [
    "metadata.goog",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "metadata.tencentyun.com",
];

fn has_empty_label(name: &str) -> bool {
    name.strip_suffix('.')
        .unwrap_or(name)
        .split('.')
        .any(str::is_empty)
}

/// Whether a name is internal to a network: it has a single label or an internal suffix.
fn is_internal(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let ends_in = |end: &&str| {
        let before = name.strip_suffix(*end);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    !name.contains('.') || INTERNAL_ENDS.iter().any(ends_in) || METADATA_NAMES.contains(&name)
}

/// Parses a URL, and refuses one that is not allowed. Names are not looked up yet.
pub(super) fn parse(text: &str, rules: &Rules) -> Result<Uri, OutboundError> {
    let refused = |why: &str| Err(OutboundError::Refused(why.to_owned()));
    let is_callers = rules.policy != Policy::Any;
    if is_callers && text.len() > MAX_URL_BYTES {
        return refused(&format!("it is longer than {MAX_URL_BYTES} bytes"));
    }
    if text
        .chars()
        .any(|c| c.is_control() || c.is_whitespace() || c == '\\')
    {
        return refused("it holds a space, a backslash or a control character");
    }
    let Ok(mut url) = Url::parse(text) else {
        return refused("it is not a URL");
    };
    let is_public = rules.policy == Policy::Public;
    if url.scheme() != "https" && (is_public || url.scheme() != "http") {
        return refused("it must begin with https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused("it holds a user name or password");
    }
    // The parser has normalised every notation of an address (decimal, octal, hexadecimal, with a final dot).
    let Some(host) = url.host() else {
        return refused("it names no host");
    };
    match &host {
        url::Host::Domain(name) if has_empty_label(name) => {
            return refused(&format!("'{name}' is no host name"));
        }
        url::Host::Domain(name) if is_public && is_internal(name) => {
            return refused(&format!("'{name}' is a name of internal networks"));
        }
        _ => {}
    }
    let port = url.port_or_known_default().unwrap_or(0);
    rules.check_host(&host, port)?;
    let is_open = matches!(port, 80 | 443) || (port >= 1_024 && !SERVICE_PORTS.contains(&port));
    if is_callers && !is_open {
        return refused(&format!("its port {port} is not one of a web server"));
    }
    url.set_fragment(None);
    // Another parser reads the URL for the request, so it must agree with the checked one.
    match Uri::try_from(url.as_str()) {
        Ok(uri) if uri.host() == url.host_str() && uri.port_u16() == url.port() => Ok(uri),
        _ => refused("it holds a character that must be percent-encoded"),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::super::rules::OwnServers;
    use super::*;
    use proptest::prelude::*;

    fn of(policy: Policy) -> Rules {
        Rules::new(policy, OwnServers::default())
    }

    fn refusal(text: &str) -> String {
        match parse(text, &of(Policy::Public)) {
            Ok(url) => panic!("{text} is taken as {url}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn public_urls_are_accepted() {
        for text in [
            "https://example.com",
            "https://example.com/a/b.csv?x=1#part",
            "https://example.com.:8443/",
            "HTTPS://EXAMPLE.com:80/",
            "https://1.1.1.1/rows.csv",
            "https://[2606:4700::1111]:1024/",
            "https://bücher.example/",
        ] {
            parse(text, &of(Policy::Public)).unwrap();
        }
        parse("http://127.0.0.1:40000/", &of(Policy::Local)).unwrap();
        parse("http://localhost:40000/", &of(Policy::Local)).unwrap();
    }

    #[test]
    fn every_notation_of_a_private_address_is_refused() {
        for host in [
            "127.0.0.1",
            "127.0.0.1.",
            "127.1",
            "127.0.1",
            "0x7f.1",
            "0x7f000001",
            "0x7F.0x0.0x0.0x1",
            "2130706433",
            "017700000001",
            "0177.0.0.1",
            "0177.0.0.0x1",
            "127%2e0%2e0%2e1",
            "①②⑦.⓪.⓪.①",
            "127。0。0。1",
            "１２７.0.0.1",
            "0",
            "0.0.0.0",
            "10.0.0.1",
            "0xa9fea9fe",
            "169.254.169.254",
            "2852039166",
            "[::1]",
            "[::]",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[ff02::1]",
        ] {
            for text in [
                format!("https://{host}/"),
                format!("https://{host}:443/x"),
                format!("https://{host}"),
            ] {
                let refusal = refusal(&text);
                assert!(refusal.contains("is not public"), "{text}: {refusal}");
            }
        }
    }

    #[test]
    fn internal_names_are_refused_in_public() {
        for host in [
            "intranet",
            "localhost",
            "localhost.",
            "LOCALHOST",
            "a.b.localhost",
            "printer.local",
            "printer.local.",
            "db.internal",
            "metadata.google.internal",
            "metadata",
            "instance-data.ec2.internal",
            "api.default.svc",
            "api.default.svc.cluster.local",
            "nas.home.arpa",
            "router.lan",
            "metadata.goog",
            "METADATA.tencentyun.com.",
        ] {
            let refusal = refusal(&format!("https://{host}/"));
            assert!(refusal.contains("internal networks"), "{host}: {refusal}");
        }
        for host in [
            "localhost.example",
            "local.example",
            "svc.example.com",
            "xlocal.example",
            "internal.dev",
        ] {
            parse(&format!("https://{host}/"), &of(Policy::Public)).unwrap();
        }
    }

    #[test]
    fn urls_with_extra_parts_are_refused() {
        for (text, why) in [
            ("", "not a URL"),
            ("example.com", "not a URL"),
            ("//example.com", "not a URL"),
            ("http://example.com", "https://"),
            ("ftp://example.com", "https://"),
            ("file:///etc/passwd", "https://"),
            ("gopher://example.com", "https://"),
            ("data:text/csv,a", "https://"),
            ("javascript:1", "https://"),
            ("https://", "not a URL"),
            ("https:///", "not a URL"),
            ("https://user@example.com/", "user name"),
            ("https://user:pass@example.com/", "user name"),
            ("https://:pass@example.com/", "user name"),
            ("https://example.com@127.0.0.1/", "user name"),
            ("https://127.0.0.1@example.com/", "user name"),
            ("https://[fe80::1%25eth0]/", "not a URL"),
            ("https://[fe80::1%eth0]/", "not a URL"),
            ("https://256.256.256.256/", "not a URL"),
            ("https://1.2.3.4.5/", "not a URL"),
            ("https://exa mple.com/", "space"),
            ("https://example.com\\@127.0.0.1/", "backslash"),
            ("https://exam\tple.com/", "space"),
            ("https://example.com/\r\nx: y", "space"),
            (" https://example.com/", "space"),
            ("https://127.0.0.1../", "no host name"),
            ("https://./", "no host name"),
            ("https://.example.com/", "no host name"),
            ("https://a..example.com/", "no host name"),
            ("https://example.com:22/", "port 22"),
            ("https://example.com:25/", "port 25"),
            ("https://example.com:1023/", "port 1023"),
            ("https://example.com:0/", "port 0"),
            ("https://example.com:3306/", "port 3306"),
            ("https://example.com:6379/", "port 6379"),
            ("https://example.com:65536/", "not a URL"),
        ] {
            let refusal = refusal(text);
            assert!(refusal.contains(why), "{text}: {refusal}");
        }
        assert!(refusal(&format!("https://example.com/{}", "a".repeat(5_000))).contains("longer"));
        // In local mode, this machine is allowed, and no other address that is not public.
        for text in [
            "http://10.0.0.1/",
            "http://169.254.169.254/latest",
            "http://[::ffff:10.0.0.1]/",
            "http://127.0.0.1:5432/",
            "http://0.0.0.0:8000/",
            "ftp://127.0.0.1/",
        ] {
            assert!(parse(text, &of(Policy::Local)).is_err(), "{text}");
        }
    }

    proptest! {
        /// An address is refused in every notation in which it is refused in plain form.
        #[test]
        fn notation_does_not_matter(bits: u32) {
            let address = std::net::Ipv4Addr::from_bits(bits);
            let [a, b, c, d] = address.octets();
            let expected = parse(&format!("https://{address}/"), &of(Policy::Public)).is_ok();
            for host in [
                format!("{bits}"),
                format!("{bits:#x}"),
                format!("0{bits:o}"),
                format!("{a}.{b}.{}", (u32::from(c) << 8) | u32::from(d)),
                format!("{a:#x}.0{b:o}.{c}.{d:#X}"),
                format!("{a}.{b}.{c}.{d}."),
            ] {
                let text = format!("https://{host}/");
                prop_assert_eq!(parse(&text, &of(Policy::Public)).is_ok(), expected, "{}", text);
            }
        }

        /// Any input gives a refusal or a URL, never a panic, and never a literal that is not public.
        #[test]
        fn nothing_slips_through(text in "(https?://)?[a-z0-9.:@\\[\\]%/#?x`|^\"{}-]{0,40}") {
            if let Ok(uri) = parse(&text, &of(Policy::Public)) {
                prop_assert_eq!(uri.scheme_str(), Some("https"));
                let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
                if let Ok(address) = host.parse::<IpAddr>() {
                    prop_assert!(super::super::address::is_public(address));
                }
            }
        }
    }
}
