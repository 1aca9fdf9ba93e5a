// What a scan costs and the work that it is, aged and unaged. Each cost has a figure of its own: modelled and measured never share one.

import * as Plot from "@observablehq/plot";
import { el, section } from "./dom.js";
import { charts, facetNames, figure, plot, sidesLegend, SIDES, WHOLE_WIDTH } from "./figure.js";
import { format, hasEnds } from "./format.js";
import { definition, heading, isMeasured, numbers, ofTopics } from "./measures.js";

const HOW = "Bar: mean; dots: the agings; line: 95 % confidence interval over them. " +
  "Scan: every file of the tree read once from a cold cache, in directory order; the GiB are allocated bytes.";

export function cost({ comparisons, measures }) {
  const costs = ofTopics(measures, "cost");
  return section("cost", "Cost of a full scan",
    costs.length === 0 ? el("p", { class: "missing" }, "not measured: no scan ran or was modelled") : el("p", { class: "aside" }, HOW),
    el("div", { class: "figures" }, costs.map((measure) =>
      figure(`cost-${measure.name}`, heading(measure), definition(measure), bars(comparisons, measure), sidesLegend(), WHOLE_WIDTH))),
    numbers("The work of a scan.", comparisons, ofTopics(measures, "work")));
}

// Charts share the axis across. Only a cost that every comparison should have tells where it was not measured.
function bars(comparisons, measure) {
  const { name, always, by_disk: byDisk } = measure;
  const shown = comparisons.filter((c) => (always && !byDisk) || isMeasured(c, measure));
  const costs = shown.flatMap((c) => SIDES.map((side) => c[side].values[name])).filter(Boolean);
  const most = costs.reduce((most, { mean, high }) => Math.max(most, mean, high ?? 0), 0);
  const named = shown.map((c) => ({ ...c, title: byDisk ? `${c.name}, ${c.modelled_disk}` : c.name }));
  return charts(named, (some) => chart(some, measure, most));
}

function chart(comparisons, measure, most) {
  const rows = comparisons.flatMap((c) => SIDES.filter((side) => c[side].values[measure.name])
    .map((side) => ({ name: c.title, side, ...c[side].values[measure.name] })));
  const each = comparisons.flatMap((c) => SIDES.flatMap((side) => c.agings.filter((aging) => measure.name in aging[side])
    .map((aging) => ({ name: c.title, side, seed: aging.seed, value: aging[side][measure.name] }))));
  const names = comparisons.map((c) => c.title);
  const gaps = names.filter((name) => !rows.some((row) => row.name === name));
  const place = { y: "side", fy: "name" };
  const text = (row) => `${format(measure, row.mean)} ${measure.unit}`;
  return {
    missing: null,
    draw: (width) => plot(width, {
      height: 72 + 70 * names.length, marginLeft: 2, marginRight: 84, marginTop: 24,
      x: { label: measure.unit, domain: [0, most], grid: true, ticks: width / 90 },
      y: { domain: SIDES, axis: null, padding: 0.15 }, fy: { domain: names, axis: null, padding: 0.4 },
      marks: [
        Plot.barX(rows, { x: "mean", fill: "side", ...place }),
        Plot.dot(each, { x: "value", r: 3, stroke: "currentColor", title: (one) => `seed ${one.seed}: ${format(measure, one.value)}`, ...place }),
        Plot.ruleY(rows.filter(hasEnds), { x1: "low", x2: "high", strokeWidth: 2, marker: "tick", ...place }),
        Plot.text(rows, { x: (r) => r.high ?? r.mean, text, textAnchor: "start", dx: 8, ...place }),
        Plot.text(gaps, { fy: (name) => name, text: () => "not measured", frameAnchor: "left", fontStyle: "italic" }),
        facetNames(names),
      ],
    }),
  };
}
