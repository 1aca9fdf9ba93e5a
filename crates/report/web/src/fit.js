// Whether the aging reached the profile.

import * as Plot from "@observablehq/plot";
import { section } from "./dom.js";
import { figure, fitLegend, plot } from "./figure.js";
import { percent } from "./format.js";
import { ofFirst } from "./spread.js";

const KINDS = [
  ["age", "Relative age", "operations since the creation of a file, relative to all operations"],
  ["size", "Size", "size of a file"],
  ["depth", "Depth", "directories above a file"],
];

// Conditions with one target are in one figure.
export function fit({ comparisons }) {
  const groups = new Map();
  comparisons.filter(({ aging }) => KINDS.some(([kind]) => aging[kind].length > 0)).forEach((c) =>
    groups.set(target(c), [...(groups.get(target(c)) ?? []), c]));
  if (groups.size === 0) return null;
  return section("fit", "Profile reached", [...groups.values()].map((group, i) => figure(`fit-${i}`, group.map(({ name }) => name).join(", "),
    `Share of the live files in each bin: reached, and target of the profile ${group[0].profile}. The aging matches the profile where each ` +
    `dot is on its tick. ${KINDS.map(([, title, what]) => `${title}: ${what}`).join("; ")}. ${ofFirst(group)}`,
    KINDS.filter(([kind]) => group[0].aging[kind].length > 0).map(([kind, title]) => bins(group, kind, title)), fitLegend(), 270)));
}

function target({ profile, aging }) {
  return JSON.stringify([profile, KINDS.map(([kind]) => aging[kind].map(({ label, target }) => [label, target]))]);
}

function bins(group, kind, title) {
  const targets = group[0].aging[kind];
  const reached = group.flatMap(({ name, aging }) => aging[kind].map((bin) => ({ ...bin, name })));
  const labels = targets.map(({ label }) => label);
  const tip = (bin) => `${bin.name}, ${bin.label}: ${percent(bin.reached)} of the files, target ${percent(bin.target)}`;
  return {
    title,
    missing: null,
    draw: (width) => plot(width, {
      ariaLabel: `${title}: shares of the files, reached and target`,
      height: 60 + 17 * labels.length, marginTop: 6, marginRight: 16,
      marginLeft: Math.min(width / 2, 14 + 6.8 * Math.max(...labels.map((label) => label.length))),
      x: { label: "share of the files", tickFormat: percent, zero: true, grid: true, ticks: width / 90 },
      y: { type: "band", domain: labels, label: null, tickSize: 0, padding: 0.2 },
      marks: [
        Plot.tickX(targets, { x: "target", y: "label", stroke: "var(--target)", strokeWidth: 2.5 }),
        Plot.dot(reached, { x: "reached", y: "label", fill: "var(--reached)", r: 4, fillOpacity: 0.8, title: tip }),
      ],
    }),
  };
}
