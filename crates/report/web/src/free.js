// Free space: whether what is left is whole or crumbs.

import * as Plot from "@observablehq/plot";
import { section } from "./dom.js";
import { figure, plot, SIDES } from "./figure.js";
import { bytes, count, percent, powersOfTwo } from "./format.js";
import { numbers, ofTopics } from "./measures.js";

export function free({ comparisons, measures }) {
  return section("free", "Free space",
    figure("free-space", "Free space by length of extent",
      "Share of the free bytes (height) in free extents of each length (powers of two). Space on the right " +
      "can hold a large file in one piece; space on the left is fragmented.",
      comparisons.map(histogram)),
    numbers("Free space, and a new file written to it.", comparisons, ofTopics(measures, "free_space", "new_file")));
}

function histogram(c) {
  const rows = SIDES.flatMap((side) => shares(c[side].free_histogram).map((row) => ({ side, ...row })));
  const powers = rows.map((row) => row.power);
  const [low, high] = [Math.min(...powers), Math.max(...powers) + 1];
  const tip = (row) =>
    `${row.side}, ${bytes(2 ** row.power)} to ${bytes(2 ** (row.power + 1))}: ${percent(row.share)} of the free bytes in ${count(row.extents)} extents`;
  return {
    title: c.name,
    missing: rows.length === 0 ? "the free space probe did not run, or no space is free" : null,
    draw: (width) => plot(width, {
      height: 285, marginTop: 26, marginLeft: 44, marginRight: 14,
      x: { domain: [low, high], label: "length of the free extent", ticks: powersOfTwo(low, high, width), tickFormat: (p) => bytes(2 ** p) },
      y: { label: "share of the free bytes", tickFormat: percent, ticks: 4, grid: true, zero: true },
      fy: { domain: SIDES, axis: null, padding: 0.12 },
      marks: [
        Plot.rectY(rows, { x1: "power", x2: (row) => row.power + 1, y: "share", fill: "side", fy: "side", insetLeft: 0.5, insetRight: 0.5, title: tip }),
        Plot.ruleY([0]),
      ],
    }),
  };
}

function shares(histogram) {
  const bins = histogram.filter((bin) => bin.lower_bytes > 0);
  const all = bins.reduce((sum, bin) => sum + bin.bytes, 0);
  return all === 0 ? [] : bins.map((bin) => ({ power: Math.log2(bin.lower_bytes), share: bin.bytes / all, extents: bin.extents }));
}
