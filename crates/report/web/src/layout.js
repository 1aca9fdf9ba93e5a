// Layout scores: overall, and by size of file.

import * as Plot from "@observablehq/plot";
import { section } from "./dom.js";
import { charts, facetNames, figure, plot, sidesLegend, SIDES, WHOLE_WIDTH } from "./figure.js";
import { bytes, powersOfTwo, score } from "./format.js";

const MEASURES = [
  ["dynamic", (side) => side.dynamic_layout_score?.median ?? null],
  ["scan", (side) => side.scan_layout_score],
  ["static", (side) => side.layout_score],
];

// Of file systems that are a tree.
const KEY_ORDER = ["key order", (side) => side.tree?.key_order_layout_score ?? null];

export function layout(comparisons) {
  const most = worst(comparisons);
  return section("layout", "Layout on disk",
    figure("layout-scores", "Layout scores",
      "Share of blocks directly after their predecessor: 1 is perfectly sequential, 0 has no two consecutive blocks. " +
      "Dynamic: over the blocks of the read requests that reached the disk during the scan, in order of issue. " +
      "Scan: the same, but computed from extent maps, without reading. Static: within each file alone, over its " +
      "blocks from the second on. Key order, of a tree file system: the share of its leaves stored directly " +
      "after the previous leaf in key order. The further aged is to the left of unaged, the stronger the effect of aging.",
      charts(comparisons, dumbbells), sidesLegend(), WHOLE_WIDTH),
    figure("layout-by-size", "Layout score by size of file",
      "Static layout score (1 is best) of the files up to each size; the classes are powers of two. " +
      "Files with one block have no score, so their class has no dot.",
      comparisons.map((c) => bySize(c, "layout_score", [0, 1]))),
    figure("fragmentation-by-size", "Degree of fragmentation by size of file",
      "Extents over the fewest extents the file system could have used (1 is best), of the files up to each size.",
      comparisons.map((c) => bySize(c, "degree_of_fragmentation", [1, most]))));
}

// The highest degree of fragmentation of any size class: one scale for all panels makes them comparable.
function worst(comparisons) {
  const degrees = comparisons.flatMap((c) => SIDES.flatMap((side) => c[side].by_size.map((size) => size.degree_of_fragmentation)));
  return degrees.reduce((most, degree) => Math.max(most, degree ?? 0), 1.1);
}

function dumbbells(comparisons) {
  const trees = comparisons.filter((c) => SIDES.some((side) => c[side].tree));
  const measures = trees.length > 0 ? [...MEASURES, KEY_ORDER] : MEASURES;
  const of = (c) => (trees.includes(c) ? measures : MEASURES);
  const pairs = comparisons.flatMap((c) => of(c).map(([measure, of]) =>
    ({ name: c.name, measure, unaged: of(c.unaged), aged: of(c.aged) })));
  const whole = pairs.filter((p) => p.unaged !== null && p.aged !== null);
  const dots = pairs.flatMap((p) => SIDES.map((side) => ({ name: p.name, measure: p.measure, side, value: p[side] })))
    .filter((dot) => dot.value !== null);
  const gaps = pairs.filter((p) => p.unaged === null && p.aged === null);
  const names = comparisons.map((c) => c.name);
  const place = { y: "measure", fy: "name" };
  return {
    missing: dots.length === 0 ? "the layout probe did not run" : null,
    draw: (width) => plot(width, {
      height: 72 + 30 * measures.length * names.length, marginLeft: 60, marginTop: 24, marginRight: 12,
      x: { domain: [0, 1], label: "layout score", grid: true, ticks: 5 },
      y: { domain: measures.map(([name]) => name), label: null, tickSize: 0 },
      fy: { domain: names, axis: null, padding: 0.35 },
      marks: [
        Plot.ruleY(whole, { x1: "unaged", x2: "aged", strokeOpacity: 0.5, strokeWidth: 3, ...place }),
        Plot.dot(dots, { x: "value", fill: "side", r: 5, title: (d) => `${d.side}: ${score(d.value)}`, ...place }),
        Plot.text(gaps, { text: () => "not measured", frameAnchor: "left", dx: 6, fontStyle: "italic", ...place }),
        facetNames(names),
      ],
    }),
  };
}

function bySize(c, key, domain) {
  const rows = SIDES.flatMap((side) => c[side].by_size.filter((size) => size[key] !== null && size.upper_bytes > 0)
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
      y: { domain, label: key.replaceAll("_", " "), grid: true, ticks: 5 },
      marks: [
        Plot.lineY(rows, { ...line, strokeWidth: 2 }),
        Plot.dot(rows, { ...line, fill: "side", r: 3, title }),
      ],
    }),
  };
}
