//! Computes statistics of repeated measurements.

/// Returns the smallest value that at least `share` of all values do not exceed; NaN for no values.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

pub fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// Returns the geometric mean. For ratios it is independent of which side is the divisor.
pub fn geometric_mean(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (sum / values.len() as f64).exp()
}

pub fn worst(values: &[f64]) -> f64 {
    percentile(values, 1.0)
}
