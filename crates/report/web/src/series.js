// Lines of measurements over a common axis, and what was published of them. Colour is the file system and each disk has its own panel,
// or the other way round; a dashed line is unaged, or the longest of many. Options are told apart by symbols, or by panels where
// symbols would crowd. Measurements of one round only are bars by option.

import * as Plot from "@observablehq/plot";
import { axis, rise, span, told as unitOf, writer } from "./axis.js";
import { bars } from "./bars.js";
import { el } from "./dom.js";
import { figure, plot, SIDES } from "./figure.js";
import { count, hasEnds } from "./format.js";

const MOST_LINES = 6; // a panel with more is parted by option
const MOST_SYMBOLS = 16; // a line with more points has symbols at some of them only
const DASHED = ["unaged", "longest"]; // sides
const COLOURS = 6; // those of the style for names that it does not know
const SYMBOLS = ["circle", "triangle", "square", "diamond", "wye", "star", "cross"];

// `panels` says which of disk and fs has panels of its own; within this file that is the `place` of a line, and the other
// its `kind`.
export function series(id, { title, x, y, lines: given, published = [], note, panels: by }) {
  const [place, kind] = by === "fs" ? ["fs", "disk"] : ["disk", "fs"];
  const all = given.map((line) => ({ ...line, place: line[place], kind: line[kind] }));
  const lines = all.map((line) => ({ ...line, points: line.points.filter((p) => fits(p.x, x) && fits(p.y, y)) }))
    .filter((line) => line.points.length > 0);
  const [places, options, kinds] = ["place", "option", "kind"].map((name) => distinct(lines, name));
  const crowded = places.some((place) => lines.filter((line) => line.place === place).length > MOST_LINES);
  const apart = options.length > 1 && crowded;
  const told = options.length > 1 && !apart ? { by: "option", names: options } : { by: "kind", names: kinds };
  const symbol = (line) => SYMBOLS[told.names.indexOf(line[told.by]) % SYMBOLS.length];
  const drawn = lines.map((line) => ({ ...line, symbol: symbol(line), colour: colour(line, kinds) }));
  const hidden = total(all) - total(lines);
  if (distinct(lines.flatMap(({ points }) => points), "x").length === 1) {
    const round = `After a round only (${x.label}: ${written(lines[0].points[0].x, x)}).`;
    const shown = drawn.map((line) => ({ ...line, isHollow: DASHED.includes(line.side) }));
    const own = (place) => shown.filter((line) => line.place === place);
    return figure(id, title, caption([round, note].filter(Boolean).join(" "), hidden, drawn),
      places.map((place) => bars(place, own(place), y, bands(published, own(place), kinds), (point) => tip(point, x, y))),
      published.length > 0 ? el("p", { class: "legend" }, "× published") : null, 380);
  }
  const panels = places.flatMap((place) => {
    const own = drawn.filter((line) => line.place === place);
    const parts = apart ? byOption(own) : [{ option: options.length === 1 ? options[0] : "", lines: own }];
    return parts.map((part) =>
      panel([place, part.option].filter(Boolean).join(", "), title, part.lines, drawn, x, y, bands(published, part.lines, kinds)));
  });
  return figure(id, title, caption(note, hidden, drawn),
    panels.length > 0 ? panels : [{ missing: "no cell of the experiment has data points" }],
    legend(drawn, told, published.length > 0), panels.length % 3 === 0 ? 300 : 380);
}

// What was published of any of these lines. One that names no file system, disk or option is of all.
function bands(published, lines, kinds) {
  const all = (one, name) => one[name].length === 0;
  const is = (one, line) => ["fs", "disks", "options"].every((name, i) => all(one, name) || one[name].includes(line[["fs", "disk", "option"][i]]));
  return published.filter((one) => lines.some((line) => is(one, line))).map((one) => {
    const of = lines.filter((line) => is(one, line));
    const own = distinct(of, "kind");
    return { ...one, of, colour: own.length === 1 && kinds.length > 1 ? of[0].colour : "var(--ink)" };
  });
}

// Lines by option. Where options are several, lines that have none belong to all of them.
function byOption(lines) {
  const named = distinct(lines, "option").filter(Boolean);
  const several = named.length > 1;
  return (several ? named : distinct(lines, "option")).map((option) =>
    ({ option, lines: lines.filter((line) => line.option === option || (several && line.option === "")) }));
}

function distinct(lines, name) {
  return [...new Set(lines.map((line) => line[name]))];
}

// Whether an axis can show a value: a logarithmic one has no place for 0.
function fits(value, { log }) {
  return Number.isFinite(value) && (!log || value > 0);
}

function total(lines) {
  return lines.reduce((sum, line) => sum + line.points.length, 0);
}

function caption(note, hidden, lines) {
  return [
    note,
    lines.some((line) => line.points.some(hasEnds)) ? "Thin bars: 95 % confidence interval." : "",
    hidden > 0 ? `Points that these axes cannot show, such as 0 on a logarithmic one: ${count(hidden)}.` : "",
  ].filter(Boolean).join(" ");
}

// Panels share the axis across, and those of one place the axis upwards too; logarithmic ones have room for all places.
function panel(title, of, lines, all, x, y, published) {
  const peers = y.log ? all : all.filter((line) => line.place === lines[0].place);
  const across = all.flatMap((line) => line.points.map((p) => p.x));
  const up = [...peers.flatMap((line) => line.points.flatMap((p) => [p.y, p.low, p.high])), ...published.flatMap(({ low, high }) => [low, high])]
    .filter((at) => fits(at, y));
  const [wide, high] = [span(across, x.log), rise(up, y)];
  const points = lines.flatMap((line) => line.points.map((point) => ({ line, ...point })));
  return {
    title,
    missing: null,
    draw: (full) => {
      const width = Math.min(full, 720);
      return plot(width, {
        ariaLabel: [of, title, `${y.label} by ${x.label}`].filter(Boolean).join(", "),
        height: 300, marginTop: 28, marginLeft: 58, marginRight: 16,
        x: axis(x, across, wide, width - 74), y: axis(y, up, high, 300),
        marks: [
          y.unit === "×" ? Plot.ruleY([1], { strokeOpacity: 0.6 }) : null,
          ...published.flatMap((one) => band(one, wide)),
          ...lines.flatMap((line) => marks(line, high[0])),
          ...published.map((one) => bandText(one, wide[1], y)),
          Plot.tip(points, Plot.pointer({ x: "x", y: "y", title: (p) => tip(p, x, y) })),
        ],
      });
    },
  };
}

// A published value is a line across the panel, a range a band, where the publication's axis is not that here; a mark at its place where it is.
function band({ low, high, x, colour }, [x1, x2]) {
  if (x !== null) return [Plot.link([0], { x1: () => x, x2: () => x, y1: () => low, y2: () => high, stroke: colour, strokeWidth: 3 }),
    Plot.dot([low, high], { x: () => x, y: (value) => value, symbol: "times", r: 5, stroke: colour, strokeWidth: 2 })];
  return [
    low === high ? null : Plot.rect([0], { x1: () => x1, x2: () => x2, y1: () => low, y2: () => high, fill: colour, fillOpacity: 0.13 }),
    Plot.ruleY([...new Set([low, high])], { stroke: colour, strokeDasharray: "1 4", strokeLinecap: "round", strokeWidth: 2 }),
  ];
}

// What it is, over all lines.
function bandText({ low, high, x: own, text, colour }, edge, y) {
  const write = writer(y.unit);
  const value = low === high ? write(low) : `${write(low)} – ${write(high)}`;
  return Plot.text([[`published: ${value}`, text].filter(Boolean).join(", ")], {
    x: () => own ?? edge, y: () => high, text: (told) => told, textAnchor: "end", dx: -4, dy: -8, fontStyle: "italic", fill: colour,
    stroke: "var(--page)", strokeWidth: 4,
  });
}

function marks(line, floor) {
  const { points } = line;
  const stride = Math.ceil(points.length / MOST_SYMBOLS);
  return [
    Plot.ruleX(points.filter(hasEnds),
      { x: "x", y1: (p) => Math.max(p.low, floor), y2: "high", stroke: line.colour, strokeOpacity: 0.7 }),
    path(line, points),
    dots(line, points.filter((_, i) => i % stride === 0)),
  ];
}

function path(line, points) {
  const strokeDasharray = DASHED.includes(line.side) ? "5 4" : null;
  return Plot.line(points, { x: "x", y: "y", stroke: line.colour, strokeWidth: 2, strokeDasharray });
}

function dots(line, points) {
  const fill = DASHED.includes(line.side) ? "var(--page)" : line.colour;
  return Plot.dot(points, { x: "x", y: "y", symbol: line.symbol, stroke: line.colour, fill, r: 3.5 });
}

// The style has a colour for each file system, disk, phase and operation that it knows; others get one by their order. Where there is one
// kind only, colours are those of the sides.
function colour({ kind, side }, kinds) {
  if (kinds.length === 1 && SIDES.includes(side)) return `var(--${side})`;
  const other = kinds.length === 1 ? "var(--ink)" : `var(--hue-${kinds.indexOf(kind) % COLOURS})`;
  return `var(--hue-${CSS.escape(kind)}, ${other})`;
}

function written(value, { unit }) {
  return `${writer(unit)(value)} ${unitOf(unit)}`.trim();
}

function tip({ line, x: at, ...point }, x, y) {
  return [
    [line.kind, line.side, line.option].filter(Boolean).join(", "),
    `${x.label}: ${written(at, x)}`,
    `${y.label}: ${written(point.y, y)}`,
    hasEnds(point) ? `95 %: ${written(point.low, y)} – ${written(point.high, y)}` : "",
  ].filter(Boolean).join("\n");
}

function legend(lines, told, isPublished) {
  const several = distinct(lines, "kind").length > 1;
  const symbol = (name, value) => (told.by === name ? lines.find((line) => line[name] === value).symbol : null);
  const keys = [
    ...distinct(lines, "kind").filter(Boolean).map((kind) => [kind, { colour: ownColour(lines, "kind", kind) }, symbol("kind", kind)]),
    ...distinct(lines, "side").filter(Boolean).map((side) => [side, { colour: several ? "var(--ink)" : ownColour(lines, "side", side), side }, null]),
    ...(told.by === "option" ? told.names : []).map((option) => [option || "plain", null, symbol("option", option)]),
  ];
  const published = isPublished ? [el("span", { class: "key" }, el("i", { class: "swatch published" }), "published")] : [];
  const shown = [...keys.map(([text, line, symbol]) => el("span", { class: "key" }, sample(line, symbol), text)), ...published];
  return shown.length > 0 ? el("p", { class: "legend" }, shown) : null;
}

// The colour of all lines of a name, if they have one.
function ownColour(lines, name, value) {
  const own = distinct(lines.filter((line) => line[name] === value), "colour");
  return own.length === 1 ? own[0] : "var(--ink)";
}

// A sample is drawn by the same hand as the lines, and once: a page may have thousands of legends, which say much the same.
const samples = new Map();

function sample(line, symbol) {
  const name = JSON.stringify([line, symbol]);
  if (!samples.has(name)) {
    const marks = [
      line && path(line, [{ x: 0, y: 0 }, { x: 2, y: 0 }]),
      symbol && dots({ colour: "var(--ink)", ...line, symbol }, [{ x: 1, y: 0 }]),
    ];
    const drawn = Plot.plot({
      width: 34, height: 14, margin: 1, style: { background: "none", color: "inherit" },
      x: { axis: null, domain: [0, 2] }, y: { axis: null, domain: [-1, 1] }, marks,
    });
    // What it says of texts is of no use to one without.
    drawn.querySelector("style").remove();
    samples.set(name, drawn);
  }
  return samples.get(name).cloneNode(true);
}
