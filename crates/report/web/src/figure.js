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

function panel({ title, missing, draw }) {
  const body = el("div", { class: "plot" });
  if (missing) body.append(el("p", { class: "missing" }, `not measured: ${missing}`));
  else redraw(body, draw);
  return el("div", { class: "panel" }, title ? el("h4", {}, title) : null, body);
}

// So many panels are drawn at once. Of a page with more, the others are drawn as a reader comes near them, or prints.
const AT_ONCE = 60;
let panels = 0;
// What begins to draw the others.
const waiting = new Set();
addEventListener("beforeprint", () => waiting.forEach((begin) => begin()));

// A page is drawn in the place of what was there.
export function anew() {
  panels = 0;
  waiting.clear();
}

// Draws once there is a width, and again whenever it changes. A figure that fails says so and spares the others.
function redraw(body, draw) {
  let drawn = 0;
  const sized = new ResizeObserver(() => {
    const width = Math.floor(body.clientWidth);
    if (width === 0 || width === drawn) return;
    drawn = width;
    try {
      body.replaceChildren(draw(width));
    } catch (error) {
      body.replaceChildren(el("p", { class: "failed" }, `This figure could not be drawn: ${error.message}`));
    }
  });
  panels += 1;
  if (panels <= AT_ONCE) return sized.observe(body);
  body.classList.add("later");
  const near = new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) begin(); }, { rootMargin: "1500px" });
  const begin = () => {
    waiting.delete(begin);
    near.disconnect();
    body.classList.remove("later");
    sized.observe(body);
  };
  near.observe(body);
  waiting.add(begin);
}

function key(colour, text, shape = "swatch") {
  return el("span", { class: "key" }, el("i", { class: shape, style: `--key: var(--${colour})` }), text);
}

export function sidesLegend() {
  return el("p", { class: "legend" },
    key("unaged", "unaged: the same files, copied to a fresh file system"), key("aged", "aged"));
}

export function fitLegend() {
  return el("p", { class: "legend" }, key("reached", "reached"), key("target", "target", "tick"));
}

// Keys of parts, each a name and a colour.
export function partsLegend(parts) {
  return el("p", { class: "legend" }, parts.map(([name, colour]) => key(colour, name)));
}

export function positionLegend() {
  return el("p", { class: "legend" }, "first block of the file", el("i", { class: "ramp" }), "last block");
}
