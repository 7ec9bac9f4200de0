//! Reads and writes the W3C trace context: the headers `traceparent` and `tracestate`.

use std::sync::Arc;

use hyper::header::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub const TRACEPARENT: &str = "traceparent";
pub const TRACESTATE: &str = "tracestate";

/// Length of `traceparent` in version 00.
const LENGTH: usize = 55;
/// Limits of `tracestate` by the W3C recommendation, in characters and members.
const MAX_STATE_CHARACTERS: usize = 512;
const MAX_STATE_MEMBERS: usize = 32;

/// Position in a trace: what a caller sends, and what a span hands to what it causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub trace_id: [u8; 16],
    pub span_id: [u8; 8],
    pub is_sampled: bool,
    /// Entries of other tracing systems, passed on as they are.
    pub state: Option<Arc<str>>,
}

impl TraceContext {
    /// Parses `traceparent`; None for a text that the recommendation calls invalid. An invalid `tracestate`
    /// is left out.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let version = lower_hex::<1>(traceparent.get(..2)?)?;
        let rest = traceparent.get(LENGTH..)?;
        let has_room = match version {
            [0x00] => rest.is_empty(),
            [0xff] => false,
            // Later versions may add parts.
            _ => rest.is_empty() || rest.starts_with('-'),
        };
        let mut parts = traceparent.get(2..LENGTH)?.split('-');
        let (Some(""), Some(trace_id), Some(span_id), Some(flags), None) = (
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
            parts.next(),
        ) else {
            return None;
        };
        let context = Self {
            trace_id: lower_hex(trace_id)?,
            span_id: lower_hex(span_id)?,
            is_sampled: lower_hex::<1>(flags)?.map(|flags| flags & 1 == 1) == [true],
            state: tracestate.filter(|state| is_state(state)).map(Into::into),
        };
        let is_valid = has_room && context.trace_id != [0; 16] && context.span_id != [0; 8];
        is_valid.then_some(context)
    }

    /// Parses the headers of a request. Two headers `traceparent` contradict each other: neither counts.
    pub fn of_headers(headers: &HeaderMap) -> Option<Self> {
        let mut parents = headers.get_all(TRACEPARENT).iter();
        let parent = parents.next()?.to_str().ok()?;
        if parents.next().is_some() {
            return None;
        }
        let states: Option<Vec<_>> = headers
            .get_all(TRACESTATE)
            .iter()
            .map(|state| state.to_str().ok())
            .collect();
        let state = states.filter(|states| !states.is_empty());
        Self::parse(parent, state.map(|states| states.join(",")).as_deref())
    }

    /// Adds the headers of a request that this position causes.
    pub fn add_to(&self, headers: &mut HeaderMap) {
        if let Ok(parent) = HeaderValue::try_from(self.traceparent()) {
            headers.insert(TRACEPARENT, parent);
        }
        if let Some(state) = &self.state
            && let Ok(state) = HeaderValue::from_str(state)
        {
            headers.insert(TRACESTATE, state);
        }
    }

    pub fn traceparent(&self) -> String {
        format!(
            "00-{}-{}-{:02x}",
            hex::encode(self.trace_id),
            hex::encode(self.span_id),
            u8::from(self.is_sampled)
        )
    }

    /// Returns the position of a run below the one that it was started under. The ids come from the run's id,
    /// so that every process that works for the run finds the same. A run without a cause has a trace of its
    /// own, for which the caller decides about sampling.
    pub(super) fn of_run(run_id: &str, cause: Option<&Self>) -> Self {
        let digest: [u8; 32] = Sha256::digest(run_id.as_bytes()).into();
        let part = |from: usize| digest.iter().skip(from).copied();
        let (mut trace_id, mut span_id) = ([0; 16], [0; 8]);
        trace_id.iter_mut().zip(part(0)).for_each(|(to, byte)| *to = byte);
        span_id.iter_mut().zip(part(16)).for_each(|(to, byte)| *to = byte);
        Self {
            trace_id: cause.map_or(trace_id, |cause| cause.trace_id),
            span_id,
            is_sampled: cause.is_some_and(|cause| cause.is_sampled),
            state: cause.and_then(|cause| cause.state.clone()),
        }
    }
}

/// Stored form of a position: what a record was caused by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceLink {
    pub traceparent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

impl TraceLink {
    /// Returns the position of the current span; None while tracing is off.
    pub fn current() -> Option<Self> {
        super::current().map(Into::into)
    }

    pub fn context(&self) -> Option<TraceContext> {
        TraceContext::parse(&self.traceparent, self.tracestate.as_deref())
    }
}

impl From<TraceContext> for TraceLink {
    fn from(context: TraceContext) -> Self {
        Self {
            traceparent: context.traceparent(),
            tracestate: context.state.map(|state| state.as_ref().to_owned()),
        }
    }
}

fn lower_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
    let mut bytes = [0; N];
    hex::decode_to_slice(text, &mut bytes)
        .ok()
        .filter(|()| is_lower)?;
    Some(bytes)
}

fn is_state(text: &str) -> bool {
    let is_member = |member: &str| {
        member.is_empty()
            || member.split_once('=').is_some_and(|(key, value)| {
                let in_key =
                    |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/@".contains(&byte);
                (1..=256).contains(&key.len())
                    && key.bytes().all(in_key)
                    && (1..=256).contains(&value.len())
                    && value
                        .bytes()
                        .all(|byte| (0x20..0x7f).contains(&byte) && byte != b'=')
            })
    };
    text.len() <= MAX_STATE_CHARACTERS
        && !text.trim().is_empty()
        && text.split(',').count() <= MAX_STATE_MEMBERS
        && text.split(',').all(|member| is_member(member.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn traceparent_is_read_and_written() {
        let context = TraceContext::parse(PARENT, Some("vendor=value, other=1")).unwrap();
        assert!(context.is_sampled);
        assert_eq!(context.traceparent(), PARENT);
        assert_eq!(context.state.as_deref(), Some("vendor=value, other=1"));
        // Only the flag `sampled` is known.
        let flags = TraceContext::parse(&PARENT.replace("-01", "-fe"), None).unwrap();
        assert!(!flags.is_sampled && flags.traceparent().ends_with("-00"));
        let later = TraceContext::parse(&format!("{}-more", PARENT.replacen("00-", "cc-", 1)), None);
        assert_eq!(later.unwrap().traceparent(), PARENT);
    }

    #[test]
    fn malformed_traceparent_is_refused() {
        for text in [
            "",
            "00",
            &PARENT[..54],
            &format!("{PARENT}0"),
            &format!("{PARENT}-00"),
            &format!(" {PARENT}"),
            &format!("{PARENT} "),
            &PARENT.to_uppercase(),
            &PARENT.replace("4bf92f", "4BF92F"),
            &PARENT.replace("-01", "-0A"),
            &PARENT.replacen("00-", "ff-", 1),
            &PARENT.replacen("00-", "FF-", 1),
            &PARENT.replacen("00-", "cc-", 1).replace("-01", "-01x"),
            &PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &PARENT.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &PARENT.replace("00f067aa0ba902b7", "00f067aa0ba902bg"),
            &PARENT.replace('-', "_"),
            &PARENT.replace("3577b34d", "35-7b34d"),
            &"é".repeat(40),
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b-701",
        ] {
            assert_eq!(TraceContext::parse(text, None), None, "{text:?}");
        }
    }

    #[test]
    fn invalid_tracestate_is_left_out() {
        let state = |text: &str| TraceContext::parse(PARENT, Some(text)).unwrap().state;
        assert!(state(&format!("a={}", "x".repeat(257))).is_none());
        assert!(state(&format!("a={}", "x".repeat(600))).is_none());
        for text in ["", " ", "a", "A=1", "a=1,b", "a=\n", "a=1=2", "é=1"] {
            assert!(state(text).is_none(), "{text:?}");
        }
        let many = vec!["a=1"; 33].join(",");
        assert!(state(&many).is_none());
        assert!(state("a=1,,b=2").is_some());
    }

    #[test]
    fn two_traceparents_count_as_none() {
        let mut headers = HeaderMap::new();
        headers.append(TRACEPARENT, HeaderValue::from_static(PARENT));
        headers.append(TRACESTATE, HeaderValue::from_static("a=1"));
        headers.append(TRACESTATE, HeaderValue::from_static("b=2"));
        let context = TraceContext::of_headers(&headers).unwrap();
        assert_eq!(context.state.as_deref(), Some("a=1,b=2"));
        headers.append(TRACEPARENT, HeaderValue::from_static(PARENT));
        assert_eq!(TraceContext::of_headers(&headers), None);
    }

    #[test]
    fn run_has_the_same_position_in_every_process() {
        let cause = TraceContext::parse(PARENT, Some("a=1")).unwrap();
        let run = TraceContext::of_run("r1", Some(&cause));
        assert_eq!(run, TraceContext::of_run("r1", Some(&cause)));
        assert_eq!(
            (run.trace_id, run.is_sampled, run.state),
            (cause.trace_id, true, cause.state.clone())
        );
        assert_ne!(run.span_id, TraceContext::of_run("r2", Some(&cause)).span_id);
        assert_ne!(TraceContext::of_run("r1", None).trace_id, cause.trace_id);
    }
}
