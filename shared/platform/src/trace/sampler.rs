//! Decides which traces are recorded, by the samplers that OpenTelemetry names.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sampler {
    /// Whether the decision of the caller counts, where there is one.
    pub follows_parent: bool,
    /// Share of the other traces, from 0 to 1.
    pub ratio: f64,
}

impl Sampler {
    pub(super) fn takes(&self, trace_id: &[u8; 16], parent: Option<bool>) -> bool {
        match parent {
            Some(is_sampled) if self.follows_parent => is_sampled,
            _ => self.takes_by_id(trace_id),
        }
    }

    /// Every process with the same ratio takes the same traces: those whose last 63 bits are below it, as the
    /// SDKs of OpenTelemetry decide.
    fn takes_by_id(&self, trace_id: &[u8; 16]) -> bool {
        let [.., a, b, c, d, e, f, g, h] = *trace_id;
        let value = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1;
        self.ratio >= 1.0 || (value as f64) < self.ratio * (1_u64 << 63) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_of_traces_is_the_ratio() {
        let ids = (0..10_000).map(|_| rand::random::<[u8; 16]>());
        let ids: Vec<_> = ids.collect();
        let taken = |ratio| {
            let sampler = Sampler {
                follows_parent: true,
                ratio,
            };
            ids.iter().filter(|id| sampler.takes(id, None)).count()
        };
        assert_eq!((taken(0.0), taken(1.0)), (0, 10_000));
        assert!((2_000..3_000).contains(&taken(0.25)), "{}", taken(0.25));
    }

    #[test]
    fn parent_decides_where_it_is_followed() {
        let never = Sampler {
            follows_parent: true,
            ratio: 0.0,
        };
        assert!(never.takes(&[1; 16], Some(true)) && !never.takes(&[1; 16], None));
        let always = Sampler {
            follows_parent: false,
            ratio: 1.0,
        };
        assert!(always.takes(&[1; 16], Some(false)));
    }
}
