//! Converts shares of files to whole numbers with the least rounding error.

/// Divides `total` among bins in proportion to `share` (which sums to 1), no bin above its `cap`:
/// the whole numbers with the least sum of squared distances from `share · total` under the caps.
///
/// Without binding caps this is the method of the largest remainder. Where caps bind, the excess is spread
/// evenly over the other bins (the least-squares condition: equal distance wherever there is room). The caps
/// must sum to at least `total`.
pub(crate) fn apportion(share: &[f64], total: u64, cap: &[u64]) -> Vec<u64> {
    debug_assert!(cap.iter().map(|&c| u128::from(c)).sum::<u128>() >= u128::from(total));
    let level = level(share, total, cap);
    let ideal: Vec<f64> =
        share.iter().zip(cap).map(|(s, &c)| (s * total as f64 + level).clamp(0.0, c as f64)).collect();
    let mut count: Vec<u64> = ideal.iter().zip(cap).map(|(x, &c)| (x.floor() as u64).min(c)).collect();

    // Bins by the fraction that rounding down removed; ties by bin number, so that the result is unique.
    let mut order: Vec<usize> = (0..share.len()).collect();
    order.sort_by(|&a, &b| {
        let left = |i: usize| ideal[i] - count[i] as f64;
        left(b).total_cmp(&left(a)).then(a.cmp(&b))
    });
    // Rounding errors of the level can leave more or less than one file per bin, so repeat until the sum is
    // exact.
    let mut given: u64 = count.iter().sum();
    for &i in order.iter().cycle() {
        if given >= total {
            break;
        }
        let room = u64::from(count[i] < cap[i]);
        count[i] += room;
        given += room;
    }
    for &i in order.iter().rev().cycle() {
        if given <= total {
            break;
        }
        let spare = u64::from(count[i] > 0);
        count[i] -= spare;
        given -= spare;
    }
    count
}

/// The height to which every bin is raised to compensate for the caps: the root of a rising function.
fn level(share: &[f64], total: u64, cap: &[u64]) -> f64 {
    let filled = |level: f64| -> f64 {
        share.iter().zip(cap).map(|(s, &c)| (s * total as f64 + level).clamp(0.0, c as f64)).sum()
    };
    let wanted = total as f64;
    if filled(0.0) >= wanted * (1.0 - 1e-12) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, wanted);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if filled(middle) < wanted { low = middle } else { high = middle }
    }
    high
}

/// Divides `total` in proportion to `share` by the method of the largest remainder.
pub(crate) fn largest_remainder(share: &[f64], total: u64) -> Vec<u64> {
    apportion(share, total, &vec![total; share.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn largest_remainders_are_rounded_up() {
        assert_eq!(largest_remainder(&[0.5, 0.3, 0.2], 7), [4, 2, 1]);
        assert_eq!(largest_remainder(&[0.0, 1.0], 3), [0, 3]);
        assert_eq!(largest_remainder(&[0.25; 4], 2), [1, 1, 0, 0]);
    }

    #[test]
    fn capped_excess_is_spread_evenly() {
        assert_eq!(apportion(&[0.5, 0.25, 0.25], 100, &[20, 100, 100]), [20, 40, 40]);
    }

    proptest! {
        #[test]
        fn sums_to_the_total_within_half_a_file_rms(
            weight in prop::collection::vec(0.0f64..10.0, 1..30), total in 0u64..1_000_000,
        ) {
            let sum: f64 = weight.iter().sum();
            prop_assume!(sum > 0.0);
            let share: Vec<f64> = weight.iter().map(|w| w / sum).collect();
            let count = largest_remainder(&share, total);
            prop_assert_eq!(count.iter().sum::<u64>(), total);
            let squares: f64 = share.iter().zip(&count).map(|(s, &c)| (c as f64 - s * total as f64).powi(2)).sum();
            prop_assert!((squares / share.len() as f64).sqrt() <= 0.5 + 1e-6);
        }

        #[test]
        fn respects_caps(
            bins in prop::collection::vec((0.0f64..10.0, 0u64..1000), 1..20), part in 0.0f64..=1.0,
        ) {
            let sum: f64 = bins.iter().map(|b| b.0).sum();
            prop_assume!(sum > 0.0);
            let share: Vec<f64> = bins.iter().map(|b| b.0 / sum).collect();
            let cap: Vec<u64> = bins.iter().map(|b| b.1).collect();
            let total = (cap.iter().sum::<u64>() as f64 * part) as u64;
            let count = apportion(&share, total, &cap);
            prop_assert_eq!(count.iter().sum::<u64>(), total);
            prop_assert!(count.iter().zip(&cap).all(|(n, c)| n <= c));
        }
    }
}
