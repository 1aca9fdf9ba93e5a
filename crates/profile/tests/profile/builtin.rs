//! Compares the built-in profiles with the published table, and checks that invalid profiles are rejected.

use proptest::prelude::*;
use senesce_profile::{Profile, builtin, load, plot};

/// Profile, T/K and the bound in overwrites at 80 % fullness, as published.
const BOUNDS: [(&str, f64, f64); 8] = [
    ("douceur", 3051.1, 1220.8),
    ("agrawal", 76.9, 31.2),
    ("meyer", 24.0, 10.0),
    ("wang_os", 24.8, 10.3),
    ("wang_lanl", 44.4, 18.2),
    ("dabre", 8.6, 3.8),
    ("pramod", 5.3, 2.5),
    ("grundman", 41.8, 17.1),
];

#[test]
fn bounds_match_the_published_ones() {
    for (name, operations, overwrites) in BOUNDS {
        let profile = load(name).unwrap();
        let (t, o) = (profile.bound_operations_per_file(), profile.bound_overwrites(0.8));
        assert!((t - operations).abs() <= 0.06, "{name}: T/K {t}");
        assert!((o - overwrites).abs() <= 0.06, "{name}: overwrites {o}");
    }
}

#[test]
fn every_profile_has_a_source_and_can_be_plotted() {
    for name in builtin() {
        let profile = load(name).unwrap();
        assert_eq!(profile.name, name);
        assert!(!profile.source.is_empty() && profile.year >= 1998);
        let drawn = plot(&profile);
        let bins = profile.age.upper.len() + profile.size.upper_bytes.len() + profile.depth.depth.len();
        assert_eq!(drawn.lines().count(), bins + 3);
        assert!(drawn.contains('█'));
    }
}

#[test]
fn profile_toml_round_trips() {
    for name in builtin() {
        let profile = load(name).unwrap();
        assert_eq!(Profile::parse(&profile.to_toml(), "copy").unwrap(), profile);
    }
}

#[test]
fn invalid_profile_is_rejected_in_one_line() {
    let good = load("agrawal").unwrap().to_toml();
    let cases = [
        (good.replace("year = 2004", "year = \"old\""), "line 4"),
        (good.replace("year = 2004", "year = 2004\nyears = 5"), "unknown field"),
        (good.replace("[age]", "[ages]"), "age"),
        (good.replace("[1.0, 2.0, 8.0, 20.0, 44.0", "[-1.0, 2.0, 8.0, 20.0, 44.0"), "weight -1"),
        (good.replace("[1.0, 2.0, 8.0, 20.0, 44.0", "[nan, 2.0, 8.0, 20.0, 44.0"), "weight NaN"),
        (good.replace("[1.0, 2.0, 8.0, 20.0, 44.0", "[2.0, 8.0, 20.0, 44.0"), "9 weights for 10 bins"),
        (good.replace("[10.74, 31.0", "[31.0, 10.74"), "ascending"),
        (good.replace("[8, 32,", "[32, 8,"), "ascending"),
        (good.replace("[8, 32,", "[-8, 32,"), "line"),
        (good.replace("subdirectories = [1, 5,", "subdirectories = [5,"), "one for each"),
        (String::new(), "missing field"),
        ("\0\u{1b}[".to_owned(), "line 1"),
    ];
    for (text, expected) in cases {
        assert_ne!(text, good, "the case must change something: {expected}");
        let error = Profile::parse(&text, "test.toml").unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let zero = Profile {
        size: senesce_profile::SizeHistogram { upper_bytes: vec![8], weight: vec![0.0] },
        ..load("agrawal").unwrap()
    };
    assert!(zero.check().unwrap_err().to_string().contains("all weights are 0"));
    for absurd in [1e308, f64::INFINITY, f64::NAN, -1.0, 1.1e15] {
        for section in 0..3 {
            let mut profile = load("agrawal").unwrap();
            let weights = [&mut profile.age.weight, &mut profile.size.weight, &mut profile.depth.weight]
                .map(|w| &mut w[0]);
            *weights.into_iter().nth(section).unwrap() = absurd;
            let error = profile.check().unwrap_err().to_string();
            assert!(error.contains("weight"), "{absurd}: {error}");
        }
    }
    for fullness in [0.0, -1.0, 1.1, f64::NAN] {
        let profile = Profile { fullness: Some(fullness), ..load("agrawal").unwrap() };
        assert!(profile.check().unwrap_err().to_string().contains("fullness"), "{fullness}");
    }
    let mut narrow = load("agrawal").unwrap();
    narrow.age.upper[0] = 1e-300;
    assert!(narrow.check().unwrap_err().to_string().contains("widen the bins"));
}

#[test]
fn unknown_name_error_lists_known_names() {
    let error = load("agrawaal").unwrap_err().to_string();
    assert!(error.contains("no profile named \"agrawaal\"") && error.contains("wang_os"), "{error}");
    assert!(load("/").unwrap_err().to_string().contains("reading /"));
}

proptest! {
    #[test]
    fn parsing_does_not_panic(text in "\\PC*") {
        let _ = Profile::parse(&text, "random");
    }

    #[test]
    fn parsing_a_damaged_profile_does_not_panic(at in 0usize..600, with in any::<char>()) {
        let mut text: Vec<char> = load("wang_os").unwrap().to_toml().chars().collect();
        let at = at % text.len();
        text[at] = with;
        let text: String = text.into_iter().collect();
        if let Ok(profile) = Profile::parse(&text, "damaged") {
            prop_assert!(profile.bound_operations_per_file() > 0.0);
        }
    }
}
