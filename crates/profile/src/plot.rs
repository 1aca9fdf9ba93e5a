//! Plots a profile as bars in a terminal.

use crate::{Profile, shares};
use std::fmt::Write as _;

/// Width of the longest bar in characters.
const WIDTH: usize = 50;

/// The three histograms as text, one bar per bin.
pub fn plot(profile: &Profile) -> String {
    let mut out = String::new();
    let oldest = profile.age.upper[profile.age.upper.len() - 1];
    let age = profile.age.upper.iter().map(|e| format!("≤ {:.3} %", 100.0 * e / oldest));
    bars(&mut out, "Relative age of the files", age, &profile.age.weight);
    let size = profile.size.upper_bytes.iter().map(|&b| format!("≤ {}", input::bytes(b)));
    bars(&mut out, "Size of the files", size, &profile.size.weight);
    let directories = &profile.depth.subdirectories;
    let depth = profile.depth.depth.iter().zip(directories).map(|(d, n)| format!("{d} ({n} subdirectories)"));
    bars(&mut out, "Depth of the files' directories", depth, &profile.depth.weight);
    out
}

fn bars(out: &mut String, title: &str, labels: impl Iterator<Item = String>, weights: &[f64]) {
    let shares = shares(weights);
    let most = shares.iter().cloned().fold(0.0, f64::max);
    let _ = writeln!(out, "{title}");
    for (label, share) in labels.zip(shares) {
        let eighths = (share / most * (WIDTH * 8) as f64).round() as usize;
        let mut bar = "█".repeat(eighths / 8);
        bar.extend([' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'].get(eighths % 8).filter(|c| **c != ' '));
        let _ = writeln!(out, "  {label:>26} {:6.2} % {bar}", 100.0 * share);
    }
}
