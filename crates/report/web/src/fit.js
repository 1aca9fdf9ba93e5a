// How the aging went, and whether it reached the profile.

import * as Plot from "@observablehq/plot";
import { section, table } from "./dom.js";
import { figure, fitLegend, plot } from "./figure.js";
import { count, NONE, number, percent } from "./format.js";

const KINDS = [
  ["age", "Relative age", "operations since the creation of a file, relative to all operations"],
  ["size", "Size", "size of a file"],
  ["depth", "Depth", "directories above a file"],
];

const FACTS = [
  ["Operations", (a) => count(a.operations)],
  ["Minimum operations for the profile", (a) => count(a.bound_operations)],
  ["Creations", (a) => count(a.creations)],
  ["Deletions", (a) => count(a.deletions)],
  ["Overwrites (bytes created over capacity)", (a) => number(a.overwrites)],
  ["Minimum overwrites for the profile", (a) => number(a.bound_overwrites)],
  ["Operations per second", (a) => count(a.operations_per_s)],
  ["Live files", (a) => count(a.live_files)],
  ["Stopped by", (a) => a.stopped_by],
  ["Root-mean-square error of ages", (a) => number(a.age_rms_error)],
  ["Root-mean-square error of sizes", (a) => number(a.size_rms_error)],
  ["Root-mean-square error of depths", (a) => number(a.depth_rms_error)],
  ["p-value of the fit (χ²; near 1 is good)", (a) => number(a.fit_p_value)],
];

export function fit(comparisons) {
  const columns = [{ label: "" }, ...comparisons.map((c) => ({ label: c.name, number: true }))];
  return section("fit", "Aging",
    table("Aging results.", columns, FACTS.map(([label, of]) => [label, ...comparisons.map(({ aging }) => (aging.operations === 0 ? NONE : of(aging)))])),
    comparisons.map((c, i) => figure(`fit-${i}`, `Profile reached: ${c.name}`,
      `Share of the live files in each bin: reached, and target of the profile ${c.profile}. The aging matches the ` +
      `profile where each bar ends at its tick. ${KINDS.map(([, title, what]) => `${title}: ${what}`).join("; ")}.`,
      KINDS.map(([kind, title]) => bins(c.aging[kind], title)), fitLegend(), 270)));
}

function bins(rows, title) {
  const labels = rows.map((row) => row.label);
  const tip = (row) => `${row.label}: ${percent(row.reached)} of the files, target ${percent(row.target)}`;
  return {
    title,
    missing: rows.length === 0 ? "this workload has no target distribution" : null,
    draw: (width) => plot(width, {
      height: 60 + 17 * rows.length, marginTop: 6, marginRight: 16,
      marginLeft: Math.min(width / 2, 14 + 6.8 * Math.max(...labels.map((label) => label.length))),
      x: { label: "share of the files", tickFormat: percent, zero: true, grid: true, ticks: width / 90 },
      y: { domain: labels, label: null, tickSize: 0, padding: 0.2 },
      marks: [
        Plot.barX(rows, { x: "reached", y: "label", fill: "var(--reached)", title: tip }),
        Plot.tickX(rows, { x: "target", y: "label", stroke: "var(--target)", strokeWidth: 2.5 }),
      ],
    }),
  };
}
