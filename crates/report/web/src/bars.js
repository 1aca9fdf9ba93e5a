// Measurements of one round: a bar for each file system or disk, by setting; a dot where the axis has no place for the foot of a bar.
// Published values are crosses on those that they are of.

import * as Plot from "@observablehq/plot";
import { axis, rise, writer } from "./axis.js";
import { facetNames, plot } from "./figure.js";
import { hasEnds } from "./format.js";

const MOST_LETTERS = 30; // of the name of a bar
const BAR = 22; // pixels
const GAP = 26; // for the name of a setting
const ENDS = 44; // for the axis

// A panel. The lines have one point each, `published` the lines that they are of; `tip` writes a point.
export function bars(title, lines, y, published, tip) {
  const points = lines.map((line) => ({ line, name: name(line), option: line.option || "plain", ...line.points[0] }));
  const options = [...new Set(points.map(({ option }) => option))];
  const names = [...new Set(points.map((point) => point.name))];
  const crosses = published.flatMap((one) => points.filter(({ line }) => one.of.includes(line)).map((point) => ({ ...point, ...one, point })));
  const along = [...points.flatMap((p) => [p.y, p.low, p.high]), ...published.flatMap(({ low, high }) => [low, high])]
    .filter((at) => Number.isFinite(at) && (!y.log || at > 0));
  const [low, high] = rise(along, y);
  const foot = y.unit === "×" ? 1 : 0;
  const hasFoot = !y.log && foot >= low;
  const within = (at) => Math.max(at, low);
  const left = 16 + 7 * Math.max(...names.map((text) => short(text).length));
  return {
    title,
    missing: null,
    draw: (full) => {
      const width = Math.min(full, 720);
      const place = { fy: "option", y: "name" };
      const look = { fill: ({ line }) => (line.isHollow ? "var(--page)" : line.colour), stroke: ({ line }) => line.colour };
      return plot(width, {
        ariaLabel: [title, y.label].filter(Boolean).join(", "),
        height: options.length * (names.length * BAR + GAP) + ENDS, marginTop: GAP, marginLeft: left, marginRight: 16,
        x: axis(y, along, [low, high], width - left - 16), y: { domain: names, label: null, padding: 0.15, tickFormat: short },
        fy: { domain: options, axis: null, padding: GAP / (names.length * BAR + GAP) },
        marks: [
          hasFoot ? [Plot.barX(points, { ...place, x1: () => foot, x2: "y", ...look }), Plot.ruleX([foot])] : null,
          Plot.ruleY(points.filter(hasEnds), { ...place, x1: (p) => within(p.low), x2: "high", stroke: "var(--ink)", strokeOpacity: 0.7 }),
          hasFoot ? null : Plot.dot(points, { ...place, x: "y", r: 5, ...look }),
          Plot.ruleY(crosses.filter((one) => one.low !== one.high),
            { ...place, x1: (one) => within(one.low), x2: "high", stroke: "var(--ink)", strokeDasharray: "1 4" }),
          Plot.dot(crosses.flatMap((one) => [...new Set([one.low, one.high])].map((at) => ({ ...one, at }))),
            { ...place, x: "at", symbol: "times", r: 5, stroke: "var(--ink)", strokeWidth: 2 }),
          options.length > 1 || options[0] !== "plain" ? facetNames(options) : null,
          Plot.tip(points, Plot.pointerY({ ...place, x: "y", title: (p) => [tip(p), ...told(crosses, p, y)].join("\n") })),
        ],
      });
    },
  };
}

// What tells a bar from the others of its setting.
function name({ kind, side }) {
  return [kind, side].filter(Boolean).join(", ");
}

function short(name) {
  return name.length > MOST_LETTERS ? `${name.slice(0, MOST_LETTERS - 1)}…` : name;
}

// What was published of a point.
function told(crosses, point, y) {
  const write = writer(y.unit);
  return crosses.filter((one) => one.point === point).map(({ low, high, text }) =>
    `published: ${low === high ? write(low) : `${write(low)} – ${write(high)}`}${text ? `, ${text}` : ""}`);
}
