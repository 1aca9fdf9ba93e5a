// Why scans are slow: its modelled cost with one cause taken away at a time, a panel for each comparison.

import * as Plot from "@observablehq/plot";
import { axis, around } from "./axis.js";
import { section } from "./dom.js";
import { figure, plot, SIDES } from "./figure.js";
import { format } from "./format.js";
import { mean, ofTopics } from "./measures.js";

const HOW = "The requests of one cold scan, priced again with one cause taken away. A cause matters as far as its dots lie left of those in the " +
  "first row. Causes work together, so their shares do not add up. Means over the agings.";

export function causes({ comparisons, measures }) {
  const all = ofTopics(measures, "causes");
  const panels = comparisons.map((c) => panel(c, all)).filter(Boolean);
  return panels.length === 0 ? null : section("causes", "Why scans are slow",
    figure("causes-each", "Cost of a scan with one cause taken away (s/GiB, modelled)", HOW, panels));
}

function panel(c, all) {
  const rows = all.flatMap((measure) => SIDES.map((side) => ({ measure, side, label: short(measure), value: mean(c[side], measure) })))
    .filter(({ value }) => value !== null);
  if (rows.length === 0) return null;
  const labels = [...new Set(rows.map(({ label }) => label))];
  const values = rows.map(({ value }) => value);
  const domain = around([0, ...values], false);
  const told = ({ measure, side, value }) => `${side}, ${measure.label}: ${format(measure, value)}`;
  const right = 16;
  return {
    title: `${c.name}, ${c.modelled_disk}`,
    missing: null,
    draw: (width) => plot(width, {
      ariaLabel: `${c.name}: ${rows.map(told).join("; ")}`,
      height: 56 + 38 * labels.length, marginLeft: 10, marginRight: right, marginTop: 12,
      x: axis({ label: null, unit: "", log: false }, values, domain, width - right),
      y: { type: "band", domain: labels, axis: null, padding: 0.2 },
      marks: [
        Plot.ruleY(labels, { y: (label) => label, dy: 8, stroke: "var(--line)" }),
        Plot.text(labels, { y: (label) => label, text: (label) => label, dy: -8, frameAnchor: "left", textAnchor: "start" }),
        Plot.dot(rows, { x: "value", y: "label", dy: 8, fill: "side", r: 5, title: told }),
      ],
    }),
  };
}

// The figure tells the unit.
function short({ label, unit }) {
  return label.replace(new RegExp(`^.*${unit},? `), "");
}
