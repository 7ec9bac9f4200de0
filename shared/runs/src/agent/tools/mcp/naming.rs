//! Names the tools of MCP servers for models.
//!
//! The name is `<server>__<tool>` where it tells the server beyond doubt and models accept it, else one that
//! ends in a hash. A server chooses the names of its tools and must not take the name of another's tool: so
//! everything before the first `__` depends on the configured name of the server alone, and no tool of the
//! platform has `__` in its name.

use sha2::{Digest as _, Sha256};

/// Between the server and its tool.
pub const SEPARATOR: &str = "__";
/// Maximum length of a tool name that models accept.
const MAX_NAME_BYTES: usize = 64;
/// Length from which the name of a server is shortened where a hash has to fit.
const MAX_SERVER_BYTES: usize = 36;
/// Length of the beginning of a shortened server name.
const SERVER_BEGINNING: usize = 24;
/// Length of a hash in a name, in hexadecimal digits.
const HASH: usize = 10;

/// Returns the name of a tool for models. It depends on both names alone.
pub fn name(server: &str, tool: &str) -> String {
    let plain = format!("{server}{SEPARATOR}{tool}");
    if is_plain(server) && !tool.is_empty() && tool.bytes().all(is_accepted) && plain.len() <= MAX_NAME_BYTES
    {
        return plain;
    }
    let server = match is_plain(server) && server.len() <= MAX_SERVER_BYTES {
        true => server.to_owned(),
        false => format!("{}-{}", beginning(server, SERVER_BEGINNING), hash(server)),
    };
    let room = MAX_NAME_BYTES - server.len() - SEPARATOR.len() - 1 - HASH;
    format!("{server}{SEPARATOR}{}-{}", beginning(tool, room), hash(tool))
}

/// Whether the first separator in `<server>__<tool>` ends the server's name, whatever the tool is called.
fn is_plain(server: &str) -> bool {
    !server.is_empty()
        && server.bytes().all(is_accepted)
        && !server.contains(SEPARATOR)
        && !server.ends_with('_')
}

fn is_accepted(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// Returns the beginning of a name in characters that models accept, without a separator.
fn beginning(name: &str, bytes: usize) -> String {
    let accepted = name.bytes().map(|byte| match byte {
        b'_' => '-',
        byte if is_accepted(byte) => char::from(byte),
        _ => '-',
    });
    accepted.take(bytes).collect()
}

fn hash(name: &str) -> String {
    let mut digits = hex::encode(Sha256::digest(name));
    digits.truncate(HASH);
    digits
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::super::super::BuiltIn;
    use super::*;

    #[test]
    fn plain_names_stay_as_they_are() {
        assert_eq!(name("docs", "search"), "docs__search");
        assert_eq!(name("docs", "_search__all_"), "docs___search__all_");
        let tool = "t".repeat(58);
        assert_eq!(name("docs", &tool), format!("docs__{tool}"));
    }

    #[test]
    fn names_that_models_refuse_get_a_hash() {
        for (server, tool, expected) in [
            ("docs", "admin.users/list all", "docs__admin-users-list-all-"),
            (
                "docs",
                &"t".repeat(59),
                "docs__ttttttttttttttttttttttttttttttttttttttttttttttt-",
            ),
            ("docs", "ü", "docs__---"),
            ("a__b", "c", "a--b-"),
            ("a_", "b", "a--"),
            (&"s".repeat(64), "t", "ssssssssssssssssssssssss-"),
        ] {
            let name = name(server, tool);
            assert!(name.starts_with(expected), "{name}");
        }
    }

    #[test]
    fn no_server_takes_the_tool_name_of_another() {
        let servers = [
            "a",
            "a_",
            "a__",
            "_a",
            "a__b",
            "a__b_",
            "a_b",
            "a-b",
            "-",
            "_",
            "__",
            "b",
            "a-very-long-server-name-1",
            "a-very-long-server-name-1-and-more-than-that-1",
            "a-very-long-server-name-1-and-more-than-that-2",
        ];
        let tools = [
            "",
            "b",
            "_b",
            "__b",
            "b__c",
            "_b__c",
            "_",
            "__",
            "c",
            "b.c",
            "b c",
            "b/c",
            "tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt1",
            "tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt2",
        ];
        let mut names = HashSet::new();
        let mut servers_by_prefix = HashMap::new();
        for server in servers {
            for tool in tools {
                let name = name(server, tool);
                assert!(
                    name.len() <= MAX_NAME_BYTES && name.bytes().all(is_accepted),
                    "{name}"
                );
                assert!(names.insert(name.clone()), "{server} {tool}: {name}");
                let (prefix, _) = name.split_once(SEPARATOR).unwrap();
                let owner = *servers_by_prefix.entry(prefix.to_owned()).or_insert(server);
                assert_eq!(owner, server, "{name}");
            }
        }
        for tool in BuiltIn::ALL {
            assert!(!tool.name().contains(SEPARATOR), "{}", tool.name());
        }
    }
}
