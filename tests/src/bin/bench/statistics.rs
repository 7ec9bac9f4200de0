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

/// The geometric mean: of ratios, it does not matter which side is which.
pub fn geometric_mean(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (sum / values.len() as f64).exp()
}

/// The largest value.
pub fn worst(values: &[f64]) -> f64 {
    percentile(values, 1.0)
}
