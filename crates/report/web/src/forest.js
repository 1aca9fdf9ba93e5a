// Ratios, each a row with its interval and the values it is the mean of, over one axis with a line at 1. Names and verdicts are text of
// the page beside the marks, so they wrap on narrow screens.

import * as Plot from "@observablehq/plot";
import { axis, around } from "./axis.js";
import { el } from "./dom.js";
import { drawing, plot } from "./figure.js";
import { hasEnds, ratio } from "./format.js";

// From this ratio of the ends on, the axis is logarithmic: equal steps are then equal factors.
const WIDE = 4;
const MARGIN = 14; // pixels, for marks at the ends
const STRIP = 38;

// `rows` are {name, strips}, a strip is {about, colour, estimate, points, told}: `points` are {value, title}, `told` is text for its right.
export function forest(label, rows) {
  const strips = rows.flatMap((row) => row.strips);
  const values = strips.flatMap(({ estimate, points }) =>
    [estimate.mean, estimate.low, estimate.high, ...points.map(({ value }) => value)]).filter((value) => value !== null);
  const log = Math.max(1, ...values) / Math.min(1, ...values) > WIDE;
  const domain = around([1, ...values], log);
  const x = (width) => ({ ...axis({ label, unit: "×", log }, values, domain, width - 2 * MARGIN), labelArrow: "none" });
  const lines = rows.map(({ name, strips }) => el("div", { class: "row", role: "listitem" }, el("div", { class: "name" }, name),
    el("div", { class: "strips" }, strips.map((one) => el("div", { class: "strip" },
      drawing((width) => strip(width, x(width), one)), el("div", { class: "told" }, one.told))))));
  const ends = el("div", { class: "row axis", "aria-hidden": "true" }, el("div", { class: "name" }),
    el("div", { class: "strips" }, el("div", { class: "strip" }, drawing((width) => scale(width, x(width))), el("div", { class: "told" }))));
  return el("div", { class: "forest", role: "list" }, lines, ends);
}

function strip(width, x, { about, colour, estimate, points }) {
  const middle = { y: 0.62 };
  const ends = hasEnds(estimate) ? [estimate] : [];
  return plot(width, {
    ariaLabel: `${about}: ${written(estimate)}`,
    height: STRIP, margin: 0, marginLeft: MARGIN, marginRight: MARGIN, marginBottom: 0,
    x: { ...x, axis: null, grid: false }, y: { axis: null, domain: [0, 1] },
    marks: [
      Plot.gridX({ ticks: x.ticks }),
      Plot.ruleX([1], { stroke: "var(--ink)", strokeOpacity: 0.6 }),
      Plot.dot(points, { x: "value", y: 0.24, r: 3, stroke: colour, strokeOpacity: 0.85, title: "title" }),
      Plot.ruleY(ends, { ...middle, x1: "low", x2: "high", stroke: colour, strokeWidth: 2, marker: "tick" }),
      Plot.dot([estimate], { ...middle, x: "mean", r: 5, fill: colour, title: written }),
    ],
  });
}

function scale(width, x) {
  return plot(width, {
    height: 36, margin: 0, marginLeft: MARGIN, marginRight: MARGIN, marginBottom: 34,
    x: { ...x, grid: false }, y: { axis: null, domain: [0, 1] }, marks: [Plot.frame({ anchor: "bottom", stroke: "var(--line)" })],
  });
}

// "1.9× [1.8× – 2×]".
export function written(estimate) {
  return hasEnds(estimate) ? `${ratio(estimate.mean)} [${ratio(estimate.low)} – ${ratio(estimate.high)}]` : ratio(estimate.mean);
}
