//! Names the headers that no caller sets.
//!
//! Servers take them as the word of a browser, of a proxy or of the connection: whose page sends the request,
//! who is signed in, from which address it comes.

/// Names, in lower case.
const REFUSED: [&str; 40] = [
    // Of a browser: forbidden request headers of the Fetch standard, as far as they say who asks.
    "access-control-request-headers",
    "access-control-request-method",
    "access-control-request-private-network",
    "cookie",
    "cookie2",
    "dnt",
    "origin",
    "referer",
    "set-cookie",
    "service-worker",
    "upgrade-insecure-requests",
    // Of a proxy or a load balancer.
    "cdn-loop",
    "cf-connecting-ip",
    "client-ip",
    "early-data",
    "forwarded",
    "front-end-https",
    "via",
    "x-authenticated-user",
    "x-azure-clientip",
    "x-forwarded",
    "x-host",
    "x-original-forwarded-for",
    "x-original-host",
    "x-original-url",
    "x-real-ip",
    "x-rewrite-url",
    "x-scheme",
    "x-url-scheme",
    // Of the page of the console.
    "x-page-proof",
    // Of the connection.
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Beginnings of such names.
const REFUSED_BEGINNINGS: [&str; 8] = [
    "cf-access-",
    "proxy-",
    "sec-",
    "ssl-client-",
    "x-auth-request-",
    "x-envoy-",
    "x-forwarded-",
    "x-goog-iap-",
];

/// Parts of such names.
const REFUSED_PARTS: [&str; 4] = ["client-cert", "clientcert", "client-ip", "remote-user"];

/// Whether a caller may not set a header. Many servers take `_` or `.` in a name for `-`.
pub fn is_refused_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['_', '.'], "-");
    REFUSED.contains(&name.as_str())
        || REFUSED_BEGINNINGS.iter().any(|begin| name.starts_with(begin))
        || REFUSED_PARTS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_browsers_proxies_and_connections_are_refused() {
        for name in [
            "origin",
            "Origin",
            "REFERER",
            "Cookie",
            "sec-fetch-site",
            "Sec-WebSocket-Key",
            "Host",
            "Forwarded",
            "X-Forwarded-For",
            "x_forwarded_host",
            "Proxy-Authorization",
            "Connection",
            "Transfer-Encoding",
            "X-Real-IP",
            "Via",
            "X.Forwarded.For",
            "Remote_User",
            "x-ssl-client-cert",
            "X-ARR-ClientCert",
            "Fly-Client-IP",
            "x-goog-iap-jwt-assertion",
            "x-page-proof",
        ] {
            assert!(is_refused_header(name), "{name}");
        }
        for name in [
            "accept",
            "authorization",
            "content-type",
            "idempotency-key",
            "if-match",
            "mcp-protocol-version",
            "mcp-session-id",
            "user-agent",
            "webhook-signature",
            "x-api-key",
            "x-correlation-id",
            "x-service-signature",
            "x-trace",
        ] {
            assert!(!is_refused_header(name), "{name}");
        }
    }
}
