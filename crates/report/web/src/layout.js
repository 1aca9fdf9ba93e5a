// Layout of the files: the scores and counts of all, and those by size of file.

import * as Plot from "@observablehq/plot";
import { section } from "./dom.js";
import { charts, facetNames, figure, plot, sidesLegend, SIDES, WHOLE_WIDTH } from "./figure.js";
import { bytes, format, powersOfTwo } from "./format.js";
import { definition, heading, isMeasured, isScore, mean, numbers, ofTopics } from "./measures.js";

export function layout({ comparisons, measures }) {
  const ofFiles = ofTopics(measures, "layout");
  const scores = ofTopics(measures, "layout", "tree").filter(isScore);
  const defined = scores.map((measure) => `${heading(measure)}: ${measure.doc}`).join(" ");
  return section("layout", "Layout on disk",
    figure("layout-scores", "Layout scores",
      `1 is perfectly sequential, 0 has no two parts in a row. ${defined} The further aged is to the left of unaged, the stronger ` +
      "the effect of aging.",
      charts(comparisons, (some) => dumbbells(some, scores)), sidesLegend(), WHOLE_WIDTH),
    numbers("The layout of all files.", comparisons, ofFiles),
    ofFiles.filter((measure) => isBySize(comparisons, measure)).map((measure) => sizes(comparisons, measure)));
}

function dumbbells(comparisons, scores) {
  const pairs = comparisons.flatMap((c) => scores.filter((measure) => measure.always || isMeasured(c, measure)).map((measure) =>
    ({ name: c.name, measure, label: measure.label, unaged: mean(c.unaged, measure), aged: mean(c.aged, measure) })));
  const whole = pairs.filter((p) => p.unaged !== null && p.aged !== null);
  const dots = pairs.flatMap((p) => SIDES.map((side) => ({ ...p, side, value: p[side] }))).filter((dot) => dot.value !== null);
  const gaps = pairs.filter((p) => p.unaged === null && p.aged === null);
  const names = comparisons.map((c) => c.name);
  const labels = scores.map(({ label }) => label);
  const place = { y: "label", fy: "name" };
  const title = (dot) => `${dot.side}, ${dot.label}: ${format(dot.measure, dot.value)}`;
  return {
    missing: dots.length === 0 ? "the layout probe did not run" : null,
    draw: (width) => {
      const marginLeft = Math.min(width / 2.5, 14 + 6.8 * Math.max(...labels.map((label) => label.length)));
      return plot(width, {
        height: 72 + 30 * labels.length * names.length, marginLeft, marginTop: 24, marginRight: 12,
        x: { domain: [0, 1], label: "score", grid: true, ticks: 5 },
        y: { domain: labels }, fy: { domain: names, axis: null, padding: 0.35 },
        marks: [
          Plot.axisY({ label: null, tickSize: 0, lineWidth: marginLeft / 12 }),
          Plot.ruleY(whole, { x1: "unaged", x2: "aged", strokeOpacity: 0.5, strokeWidth: 3, ...place }),
          Plot.dot(dots, { x: "value", fill: "side", r: 5, title, ...place }),
          Plot.text(gaps, { text: () => "not measured", frameAnchor: "left", dx: 6, fontStyle: "italic", ...place }),
          facetNames(names),
        ],
      });
    },
  };
}

// Counts grow with the files of a class and are not shown by size.
function isBySize(comparisons, { name, unit }) {
  return ["share", "ratio"].includes(unit) && comparisons.some((c) => SIDES.some((side) => c[side].by_size.some((size) => name in size)));
}

// One scale for all panels makes them comparable. Both scores and ratios are best at 1.
function sizes(comparisons, measure) {
  const all = comparisons.flatMap((c) => SIDES.flatMap((side) => c[side].by_size.map((size) => size[measure.name] ?? 1)));
  const domain = measure.unit === "share" ? [0, 1] : [Math.min(1, ...all), Math.max(1.1, ...all)];
  return figure(`by-size-${measure.name}`, `${heading(measure)} by size of file`,
    `${definition(measure)} Of the files up to each size; the classes are powers of two. A class without a value has no dot.`,
    comparisons.map((c) => bySize(c, measure, domain)));
}

function bySize(c, { name: key, label }, domain) {
  const rows = SIDES.flatMap((side) => c[side].by_size.filter((size) => (size[key] ?? null) !== null && size.upper_bytes > 0)
    .map((size) => ({ side, power: Math.log2(size.upper_bytes), value: size[key], files: size.files })));
  const powers = rows.map((row) => row.power);
  const title = (row) => `${row.side}, up to ${bytes(2 ** row.power)}: ${row.value.toFixed(2)} over ${row.files} files`;
  const line = { x: "power", y: "value", stroke: "side" };
  return {
    title: c.name,
    missing: rows.length === 0 ? "the layout probe gave no size classes" : null,
    draw: (width) => plot(width, {
      height: 250, marginTop: 26, marginLeft: 36, marginRight: 14,
      x: { label: "size of file", ticks: powersOfTwo(Math.min(...powers), Math.max(...powers), width), tickFormat: (p) => bytes(2 ** p) },
      y: { domain, label, grid: true, ticks: 5 },
      marks: [
        Plot.lineY(rows, { ...line, strokeWidth: 2 }),
        Plot.dot(rows, { ...line, fill: "side", r: 3, title }),
      ],
    }),
  };
}
