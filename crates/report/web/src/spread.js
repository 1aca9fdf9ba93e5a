// How layout and free space spread over sizes: lines of all conditions, unaged and aged, over powers of two.

import { el, section } from "./dom.js";
import { definition, heading, ofTopics } from "./measures.js";
import { SIDES } from "./figure.js";
import { series } from "./series.js";

// More conditions would crowd a panel: each then has one of its own.
const A_PANEL = 4;

// From this ratio of the ends on, an axis of ratios is logarithmic.
const WIDE = 20;

const ofSize = { label: "size of file", unit: "B", log: true };
const ofExtents = { label: "length of free extents, at least", unit: "B", log: true };

export function sizes({ comparisons, measures }) {
  const by = ofTopics(measures, "layout").filter((measure) => isBySize(comparisons, measure));
  if (by.length === 0) return null;
  return section("sizes", "Layout by size of file", el("div", { class: "figures" }, by.map((measure) => {
    const of = ({ by_size }) => by_size.filter((size) => size.upper_bytes > 0 && (size[measure.name] ?? null) !== null)
      .map((size) => ({ x: size.upper_bytes, y: size[measure.name] }));
    const all = comparisons.flatMap((c) => SIDES.flatMap((side) => of(c[side]).map(({ y }) => y)));
    const log = measure.unit === "ratio" && Math.max(...all) / Math.min(...all) > WIDE;
    return figure(`by-size-${measure.name}`, heading(measure), `${definition(measure)} A point is the files of more than half its size, up ` +
      `to its size. ${ofFirst(comparisons)}`, comparisons, of, ofSize, { label: measure.label, unit: measure.unit === "ratio" ? "×" : "", log });
  })));
}

// Counts grow with the files of a class and are not shown by size.
function isBySize(comparisons, { name, unit }) {
  return ["share", "ratio"].includes(unit) && comparisons.some((c) => SIDES.some((side) => c[side].by_size.some((size) => name in size)));
}

export function free({ comparisons }) {
  if (comparisons.every((c) => SIDES.every((side) => cumulative(c[side]).length === 0))) return null;
  return section("free", "Free space", figure("free-space", "Free space in extents of at least a length",
    "The higher a curve on the right, the larger the files that fit in one piece; a curve that falls on the left is free space in small " +
    `pieces. ${ofFirst(comparisons)}`, comparisons, cumulative, ofExtents, { label: "share of the free space", unit: "share", log: false }));
}

// The share of the free bytes in this bin and all longer ones.
function cumulative({ free_histogram }) {
  const bins = free_histogram.filter((bin) => bin.lower_bytes > 0);
  const all = bins.reduce((sum, bin) => sum + bin.bytes, 0);
  let left = all;
  const points = bins.map((bin) => {
    const point = { x: bin.lower_bytes, y: left / all };
    left -= bin.bytes;
    return point;
  });
  const last = bins.at(-1);
  // No extent is as long as the end of the last bin.
  return all === 0 ? [] : [...points, { x: 2 * last.lower_bytes, y: 0 }];
}

function figure(id, title, note, comparisons, of, x, y) {
  const merged = comparisons.length <= A_PANEL;
  const lines = comparisons.flatMap((c) => SIDES.map((side) => ({
    fs: merged ? c.name : "", disk: merged ? "" : c.name, side, option: "",
    points: of(c[side]).map((point) => ({ low: null, high: null, ...point })),
  })));
  return series(id, { title, x, y, lines, note, panels: "disk" });
}

// Which of several agings a histogram is of.
export function ofFirst(comparisons) {
  if (comparisons.every((c) => c.agings.length < 2)) return "";
  const seeds = [...new Set(comparisons.filter((c) => c.agings.length > 0).map((c) => c.agings[0].seed))];
  return seeds.length === 1 ? `Of the first aging of each, seed ${seeds[0]}.` : "Of the first aging of each.";
}
