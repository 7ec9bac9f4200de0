//! Numbers over repeated measurements.

/// The smallest value that at least `share` of all values do not exceed; NaN where there is none.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// The value in the middle.
pub fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// The largest value.
pub fn worst(values: &[f64]) -> f64 {
    percentile(values, 1.0)
}
