// Costs and scores, unaged and aged, each measure over an axis of its own that fits its values.

import * as Plot from "@observablehq/plot";
import { around, axis, score } from "./axis.js";
import { el, section } from "./dom.js";
import { charts, facetNames, figure, plot, sidesLegend, SIDES } from "./figure.js";
import { format, hasEnds } from "./format.js";
import { definition, heading, isMeasured, isScore, ofTopics, TOLD } from "./measures.js";

// From this ratio of the ends on, an axis of costs is logarithmic.
const WIDE = 20;

const HOW = "Large dot and line: mean over the agings with its 95 % confidence interval; circles: the agings. Axes do not begin at 0. A scan " +
  "reads every file of the tree once from a cold cache, in directory order; GiB are allocated bytes. A score of 1 is perfectly sequential.";

export function change({ comparisons, measures }) {
  const costs = ofTopics(measures, "cost");
  const scores = ofTopics(measures, "layout", "tree").filter(isScore);
  const figures = [...costs, ...scores].map((measure) => {
    const shown = comparisons.filter((c) => isMeasured(c, measure));
    return shown.length === 0 ? null : figure(`change-${measure.name}`, heading(measure), definition(measure), panels(shown, measure), null);
  }).filter(Boolean);
  if (figures.length === 0) return null;
  return section("cost", "Cost and layout, unaged → aged",
    costs.length === 0 ? el("p", { class: "missing" }, "not measured: no scan ran or was modelled") : null,
    sidesLegend(), el("div", { class: "figures" }, figures), el("p", { class: "aside" }, HOW));
}

function panels(comparisons, measure) {
  const { name, unit, by_disk: byDisk } = measure;
  const named = comparisons.map((c) => ({ ...c, title: byDisk ? `${c.name}, ${c.modelled_disk}` : c.name }));
  const rows = named.flatMap((c) => SIDES.filter((side) => c[side].values[name]).map((side) =>
    ({ name: c.title, side, ...c[side].values[name] })));
  const each = named.flatMap((c) => SIDES.flatMap((side) => c.agings.filter((aging) => name in aging[side]).map((aging) =>
    ({ name: c.title, side, seed: aging.seed, value: aging[side][name] }))));
  const values = [...rows.flatMap(({ mean, low, high }) => [mean, low, high]), ...each.map(({ value }) => value)].filter((value) => value !== null);
  const log = unit !== "share" && Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) > WIDE;
  const domain = isScore(measure) ? score(around(values, log), values) : around(values, log);
  return charts(named, (some) => chart(some.map(({ title }) => title), rows, each, measure, { log, domain, values }));
}

function chart(names, rows, each, measure, { log, domain, values }) {
  const of = (list) => list.filter(({ name }) => names.includes(name));
  const [shown, agings] = [of(rows), of(each)];
  const pair = (name) => SIDES.map((side) => shown.find((row) => row.name === name && row.side === side));
  const arrows = names.map(pair).filter(([unaged, aged]) => unaged && aged);
  const place = { y: "side", fy: "name" };
  const unit = TOLD.includes(measure.unit) ? "" : ` ${measure.unit}`;
  const text = (row) => `${format(measure, row.mean)}${unit}`;
  const tip = (one) => `${one.side}, seed ${one.seed}: ${format(measure, one.value)}`;
  const right = 26 + 6.6 * Math.max(...shown.map((row) => text(row).length));
  return {
    missing: null,
    draw: (width) => plot(width, {
      ariaLabel: `${measure.label}: ${shown.map((row) => `${row.name}, ${row.side} ${text(row)}`).join("; ")}`,
      height: 64 + 62 * names.length, marginLeft: 10, marginRight: right, marginTop: 22,
      x: axis({ label: null, unit: "", log }, values, domain, width - right),
      y: { domain: SIDES, axis: null, padding: 0.3 }, fy: { domain: names, axis: null, padding: 0.28 },
      marks: [
        Plot.arrow(arrows.map(([unaged, aged]) => ({ name: aged.name, from: unaged.mean, to: aged.mean })),
          { x1: "from", x2: "to", y1: () => SIDES[0], y2: () => SIDES[1], fy: "name", strokeOpacity: 0.35, inset: 7, headLength: 6 }),
        Plot.dot(agings, { x: "value", r: 3, stroke: "side", title: tip, ...place }),
        Plot.ruleY(shown.filter(hasEnds), { x1: "low", x2: "high", stroke: "side", strokeWidth: 2, marker: "tick", ...place }),
        Plot.dot(shown, { x: "mean", fill: "side", r: 5, title: (row) => `${row.side}, ${measure.label}: ${text(row)}`, ...place }),
        Plot.text(shown, { text, frameAnchor: "right", textAnchor: "end", dx: right, ...place }),
        facetNames(names),
      ],
    }),
  };
}
