//! The verdicts of many comparisons in one sentence.

use results::{Told, Words};
use run::{Headline, Replicates};

/// How many conditions have which verdict, modelled and measured; empty without verdicts.
pub fn of(conditions: &[Replicates]) -> String {
    let all = |of: fn(&Replicates) -> Option<&Headline>| conditions.iter().filter_map(of).collect::<Vec<_>>();
    let kinds =
        [("modelled", all(|of| of.modelled.as_ref())), ("measured here", all(|of| of.measured.as_ref()))];
    let counted = kinds.iter().filter(|(_, of)| !of.is_empty());
    let counted: Vec<String> = counted.map(|(kind, of)| format!("{kind}: {}", count(of))).collect();
    if counted.is_empty() {
        return String::new();
    }
    format!("Of {} aged file systems, against their unaged copies: {}.", conditions.len(), counted.join("; "))
}

fn count(headlines: &[&Headline]) -> String {
    let words = [
        (Told::More, Words::COST.more),
        (Told::Less, Words::COST.less),
        (Told::NoDifference, "without a difference"),
        (Told::CannotBeTold, "that cannot be told"),
    ];
    let number = |told: Told| headlines.iter().filter(|one| one.verdict.told == told).count();
    let counted =
        words.into_iter().map(|(told, word)| (number(told), word)).filter(|(number, _)| *number > 0);
    counted.map(|(number, word)| format!("{number} {word}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::{Estimate, Verdict};

    fn aged(mean: f64, low: Option<f64>) -> Replicates {
        let ratio = Estimate { mean, low, high: low.map(|low| mean * mean / low), n: 3 };
        let headline = Headline {
            measure: String::new(),
            how: String::new(),
            ratio,
            verdict: Verdict::on(&ratio, Words::COST),
        };
        Replicates {
            name: String::new(),
            condition: run::Condition::default(),
            seeds: Vec::new(),
            measures: Vec::new(),
            modelled: Some(headline),
            measured: None,
            pairs: Vec::new(),
        }
    }

    #[test]
    fn verdicts_are_counted() {
        let all = [aged(2.0, Some(1.8)), aged(3.0, Some(2.0)), aged(0.5, Some(0.4)), aged(2.0, None)];
        assert_eq!(
            of(&all),
            "Of 4 aged file systems, against their unaged copies: modelled: 2 slower, 1 faster, 1 that cannot be told."
        );
        assert_eq!(of(&[]), "");
    }
}
