//! Order statistics.

use crate::result::Spread;

/// A quantile by nearest rank; sorts the values. `None` without any.
pub(crate) fn quantile(values: &mut [f64], q: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some(values[(q * last as f64).round() as usize])
}

/// The median and the range of values.
pub(crate) fn spread(values: &[f64]) -> Spread {
    let mut sorted = values.to_vec();
    let median = quantile(&mut sorted, 0.5).unwrap_or(0.0);
    let at = |one: Option<&f64>| one.copied().unwrap_or(0.0);
    Spread { median, low: at(sorted.first()), high: at(sorted.last()) }
}

#[cfg(test)]
mod tests {
    use super::{quantile, spread};

    #[test]
    fn quantiles_are_values() {
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 1.0), Some(3.0));
        assert_eq!(quantile(&mut [], 0.5), None);
        let three = spread(&[3.0, 1.0, 2.0]);
        assert_eq!((three.low, three.median, three.high), (1.0, 2.0, 3.0));
    }
}
