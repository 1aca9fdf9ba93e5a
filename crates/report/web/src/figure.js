// The frame of every figure: title, legend, panels drawn as wide as the page leaves room, caption.

import * as Plot from "@observablehq/plot";
import { el } from "./dom.js";

export const SIDES = ["unaged", "aged"];

// What the plots share. Colours are CSS variables, so the page's style alone turns light to dark.
export function plot(width, options) {
  return Plot.plot({
    width,
    marginBottom: 44,
    style: { background: "none", color: "inherit", fontSize: "12px", overflow: "visible" },
    color: { domain: SIDES, range: ["var(--unaged)", "var(--aged)"] },
    ...options,
  });
}

// Of so many comparisons a chart is read at a glance; of more there are several, one below the other.
const A_CHART = 20;

export function charts(comparisons, chart) {
  const first = comparisons.map((_, i) => i).filter((i) => i % A_CHART === 0);
  return first.map((i) => chart(comparisons.slice(i, i + A_CHART)));
}

// Names of the facets, above each of them: there they fit any width.
export function facetNames(names) {
  return Plot.text(names, {
    fy: (name) => name, text: (name) => name, frameAnchor: "top-left", dy: -13, fontWeight: 600, fontSize: 13,
  });
}

// `panels` is a list of {title, missing, draw}: `missing` says why there is nothing to draw, or is null.
export function figure(id, title, caption, panels, legend = sidesLegend(), panelWidth = 320) {
  const grid = el("div", { class: "panels", style: `--panel: ${panelWidth}px` }, panels.map(panel));
  return el("figure", { id }, el("h3", {}, title), legend, grid, el("figcaption", {}, caption));
}

// A figure with contents of its own.
export function figureOf(id, title, caption, ...contents) {
  return el("figure", { id }, el("h3", {}, title), contents, el("figcaption", {}, caption));
}

function panel({ title, missing, draw }) {
  const body = missing ? el("div", { class: "plot" }, el("p", { class: "missing" }, `not measured: ${missing}`)) : drawing(draw);
  return el("div", { class: "panel" }, title ? el("h4", {}, title) : null, body);
}

// A place that `draw`, which is told its width, fills.
export function drawing(draw) {
  const body = el("div", { class: "plot" });
  drawings.set(body, { draw, width: 0 });
  return body;
}

// A page of so many panels is drawn at once. Of one with more, each is drawn as a reader comes near it, or prints.
const AT_ONCE = 100;
// How each panel is drawn, and how wide it was when that was last done.
let drawings = new Map();

// So far from what is in sight, in pixels, a reader is near.
const NEAR = 1500;

const sized = new ResizeObserver((changed) => begin(changed.map((one) => one.target)));
const near = new IntersectionObserver((seen) => begin(seen.filter((one) => one.isIntersecting).map((one) => one.target)),
  { rootMargin: `${NEAR}px` });
addEventListener("beforeprint", () => begin([...drawings.keys()]));

// Puts what `make` gives in the place of what was there, and draws the figures that a reader sees: at once, as the browser may
// take its time until it tells what is in sight.
export function show(report, make) {
  [sized, near].forEach((observer) => observer.disconnect());
  drawings = new Map();
  report.replaceChildren(...make());
  const panels = [...drawings.keys()];
  const long = panels.length > AT_ONCE;
  report.classList.toggle("long", long);
  if (long) panels.forEach((body) => near.observe(body));
  begin(long ? panels.filter(isNear) : panels);
}

function isNear(body) {
  const { top, bottom } = body.getBoundingClientRect();
  return top < innerHeight + NEAR && bottom > -NEAR;
}

// Draws them, and each anew whenever its width changes. All widths are asked for first: a drawing makes the browser lay out again.
function begin(bodies) {
  const widths = bodies.map((body) => Math.floor(body.clientWidth));
  bodies.forEach((body, i) => {
    near.unobserve(body);
    sized.observe(body);
    redraw(body, widths[i]);
  });
}

// A figure that fails says so and spares the others.
function redraw(body, width) {
  const drawing = drawings.get(body);
  if (width === 0 || width === drawing.width) return;
  drawing.width = width;
  try {
    body.replaceChildren(drawing.draw(width));
  } catch (error) {
    body.replaceChildren(el("p", { class: "failed" }, `This figure could not be drawn: ${error.message}`));
  }
}

function key(colour, text, shape = "swatch") {
  return el("span", { class: "key" }, el("i", { class: shape, style: `--key: var(--${colour})` }), text);
}

export function sidesLegend() {
  return el("p", { class: "legend" },
    key("unaged", "unaged: the same files, copied to a fresh file system"), key("aged", "aged"));
}

export function fitLegend() {
  return el("p", { class: "legend" }, key("reached", "reached", "spot"), key("target", "target", "tick"));
}

// Keys of parts, each a name and a colour.
export function partsLegend(parts) {
  return el("p", { class: "legend" }, parts.map(([name, colour]) => key(colour, name)));
}

export function positionLegend() {
  return el("p", { class: "legend" }, "first block of the file", el("i", { class: "ramp" }), "last block");
}
