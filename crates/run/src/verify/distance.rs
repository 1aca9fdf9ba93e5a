//! Distances of two distributions on a line. A distribution is a list of positions with weights, in any order; only the relative weights
//! matter.

/// The maximum difference of the two cumulative distributions, from 0 to 1 (Kolmogorov 1933, Smirnov 1939; the statistic of two samples). 1
/// if exactly one of them is empty.
pub fn kolmogorov_smirnov(a: &[(f64, f64)], b: &[(f64, f64)]) -> f64 {
    match differences(a, b) {
        // The shares may add up to slightly more than 1.
        Some(steps) => steps.iter().map(|(_, difference)| difference.abs()).fold(0.0, f64::max).min(1.0),
        None => f64::from(a.is_empty() != b.is_empty()),
    }
}

/// The mean distance that weight has to move to turn one distribution into the other: on a line, the area between the two cumulative
/// distributions (Vallender, "Calculation of the Wasserstein Distance Between Probability Distributions on the Line", Theory of Probability
/// and its Applications 18, 1974). 0 if one of them is empty.
pub fn earth_mover(a: &[(f64, f64)], b: &[(f64, f64)]) -> f64 {
    let steps = differences(a, b).unwrap_or_default();
    steps.windows(2).map(|pair| pair[0].1.abs() * (pair[1].0 - pair[0].0)).sum()
}

/// The positions of both, ascending, each with the difference of the cumulative distributions from there on; `None` if a distribution has
/// no weight.
fn differences(a: &[(f64, f64)], b: &[(f64, f64)]) -> Option<Vec<(f64, f64)>> {
    let weight = |of: &[(f64, f64)]| of.iter().map(|(_, weight)| weight).sum::<f64>();
    let (of_a, of_b) = (weight(a), weight(b));
    if of_a <= 0.0 || of_b <= 0.0 {
        return None;
    }
    let rises = a.iter().map(|(at, weight)| (*at, weight / of_a));
    let falls = b.iter().map(|(at, weight)| (*at, -weight / of_b));
    let mut all: Vec<(f64, f64)> = rises.chain(falls).collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let mut steps: Vec<(f64, f64)> = Vec::new();
    let mut difference = 0.0;
    for (at, change) in all {
        difference += change;
        match steps.last_mut() {
            Some(last) if last.0 == at => last.1 = difference,
            _ => steps.push((at, difference)),
        }
    }
    // Removes the rounding error where both have reached 1.
    if let Some(last) = steps.last_mut() {
        last.1 = 0.0;
    }
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn each(places: &[f64]) -> Vec<(f64, f64)> {
        places.iter().map(|at| (*at, 1.0)).collect()
    }

    #[test]
    fn distances_match_manual_calculation() {
        let (a, b) = (each(&[1.0, 2.0, 3.0, 4.0]), each(&[2.0, 3.0, 4.0, 9.0]));
        assert_eq!(kolmogorov_smirnov(&a, &b), 0.25);
        // A quarter moves from 1 to 2, one from 2 to 3, one from 3 to 4, and one from 4 to 9.
        assert_eq!(earth_mover(&a, &b), 2.0);
        assert_eq!(kolmogorov_smirnov(&each(&[1.0, 1.0]), &each(&[5.0])), 1.0);
        assert_eq!(earth_mover(&each(&[1.0, 1.0]), &each(&[5.0])), 4.0);
        assert_eq!((kolmogorov_smirnov(&a, &[]), kolmogorov_smirnov(&[], &[])), (1.0, 0.0));
    }

    #[test]
    fn weights_are_shares() {
        let (a, b) = ([(1.0, 3.0), (2.0, 1.0)], [(2.0, 10.0), (1.0, 30.0)]);
        assert!(kolmogorov_smirnov(&a, &b) < 1e-12 && earth_mover(&a, &b) < 1e-12);
    }

    #[test]
    fn difference_is_at_most_1() {
        // Nine times a ninth is more than 1 in floating point.
        let many: Vec<f64> = (0..9).map(f64::from).collect();
        assert_eq!(kolmogorov_smirnov(&each(&many), &each(&[1000.0])), 1.0);
    }

    proptest! {
        #[test]
        fn distances_are_metrics(
            a in proptest::collection::vec((0.0..40.0, 0.1..9.0), 1..30),
            b in proptest::collection::vec((0.0..40.0, 0.1..9.0), 1..30),
            c in proptest::collection::vec((0.0..40.0, 0.1..9.0), 1..30),
        ) {
            for distance in [kolmogorov_smirnov, earth_mover] {
                prop_assert!(distance(&a, &a) < 1e-9);
                prop_assert!((distance(&a, &b) - distance(&b, &a)).abs() < 1e-9);
                prop_assert!(distance(&a, &c) <= distance(&a, &b) + distance(&b, &c) + 1e-9);
            }
            prop_assert!(kolmogorov_smirnov(&a, &b) <= 1.0);
            // On a line of that length, no distance exceeds the length times the maximum difference.
            prop_assert!(earth_mover(&a, &b) <= 40.0 * kolmogorov_smirnov(&a, &b) + 1e-9);
        }
    }
}
