// How the aging went, and whether it reached the profile.

import * as Plot from "@observablehq/plot";
import { section, table } from "./dom.js";
import { figure, fitLegend, plot } from "./figure.js";
import { format, NONE, percent } from "./format.js";
import { heading, ofTopics } from "./measures.js";

const KINDS = [
  ["age", "Relative age", "operations since the creation of a file, relative to all operations"],
  ["size", "Size", "size of a file"],
  ["depth", "Depth", "directories above a file"],
];

export function fit({ comparisons, measures }) {
  const columns = [{ label: "" }, ...comparisons.map((c) => ({ label: c.name, number: true }))];
  const rows = ofTopics(measures, "aging").map((measure) =>
    [heading(measure), ...comparisons.map(({ aging }) => format(measure, aging.values[measure.name] ?? null))]);
  const stopped = ["Stopped by", ...comparisons.map(({ aging }) => aging.stopped_by || NONE)];
  return section("fit", "Aging",
    table("Aging results.", columns, [...rows, stopped]),
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
