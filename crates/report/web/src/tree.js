// Of a file system that is a tree: how its leaves lie in the order of their keys, how full its nodes are, and what writing them
// has cost, level by level.

import * as Plot from "@observablehq/plot";
import { anchor } from "./checks.js";
import { el, section, table } from "./dom.js";
import { figure, plot, SIDES, sidesLegend, partsLegend } from "./figure.js";
import { count, number, percent, score } from "./format.js";
import { series } from "./series.js";

const TENTHS = 10;

const LAYOUT = "Share of the leaves stored directly after the previous leaf in key order: 1 where a scan " +
  "reads the disk from one end to the other.";
const OCCUPANCY = "Share of the nodes (height) by fill level, in tenths of the largest node. Leaves hold files and names, inner " +
  "nodes buffer updates for them.";
const AMPLIFICATION = "Bytes written to the disk per byte of keys and values received since the file system was created, by " +
  "purpose: the log, the leaves, each level of inner nodes above them, and maps and superblocks.";

// Of comparisons; the share of leaves in a row stands among their layout scores.
export function trees(comparisons) {
  const seen = comparisons.filter((c) => SIDES.some((side) => c[side].tree));
  if (seen.length === 0) return null;
  const groups = seen.map((c) => ({
    name: c.name,
    trees: SIDES.filter((side) => c[side].tree).map((side) => ({ side, at: side, tree: c[side].tree })),
  }));
  const rows = groups.flatMap(({ name, trees }) => trees.map(({ side, tree }) => ({ names: [name, side], tree })));
  return section("tree", "Tree on disk",
    occupancy("tree-occupancy", groups, ""),
    amplification("tree-amplification", groups.map((group) => ({ ...group, across: "side" }))),
    numbers(["", "Side"], rows));
}

// Of an experiment, by round.
export function treesByRound(e) {
  if (e.trees.length === 0) return null;
  const name = ({ fs, option }) => [fs, option].filter(Boolean).join(", ");
  const names = [...new Set(e.trees.map(name))];
  const of = (wanted, side) => e.trees.filter((at) => name(at) === wanted && at.side === side)
    .map(({ round, tree }) => ({ side, round, at: String(round), tree }));
  const last = (trees) => trees.slice(-1);
  const id = `${anchor(e)}-tree`;
  const y = { label: "key-order layout score", unit: "", log: false };
  const lines = names.flatMap((wanted) => SIDES.map((side) => {
    const [{ fs, option }] = e.trees.filter((at) => name(at) === wanted);
    const points = of(wanted, side).map(({ round, tree }) => ({ x: round, y: tree.key_order_layout_score ?? NaN, low: null, high: null }));
    return { fs, disk: "", side, option, points };
  }));
  const rows = e.trees.map((at) => ({ names: [name(at), at.side, count(at.round)], tree: at.tree }));
  return [
    series(`${id}-layout`, { title: "Key-order layout of the tree", x: e.round, y, lines, note: LAYOUT, panels: "disk" }),
    occupancy(`${id}-occupancy`, names.map((wanted) => ({ name: wanted, trees: SIDES.flatMap((side) => last(of(wanted, side))) })),
      "After the last round."),
    amplification(`${id}-amplification`, names.flatMap((wanted) => SIDES.map((side) =>
      ({ name: `${wanted}, ${side}`, across: e.round.label, trees: of(wanted, side) })).filter(({ trees }) => trees.length > 0))),
    el("details", {}, el("summary", {}, "Numbers of the tree"), numbers(["", "Side", e.round.label], rows)),
  ];
}

// The levels above the leaves as one.
function kinds({ levels: [leaves, ...inner] }) {
  const sum = (i) => inner.reduce((all, level) => all + level.occupancy[i], 0);
  const bins = Array.from({ length: TENTHS }, (_, i) => sum(i));
  return [["leaves", leaves.occupancy], ["inner nodes", bins]];
}

function occupancy(id, groups, when) {
  const panels = groups.flatMap(({ name, trees }) => ["leaves", "inner nodes"].map((kind) => {
    const rows = trees.flatMap(({ side, tree }) => shares(new Map(kinds(tree)).get(kind)).map((row) => ({ side, ...row })));
    return histogram(`${name}: ${kind}`, rows, trees.map(({ side }) => side));
  }));
  return figure(id, "Occupancy of nodes", [OCCUPANCY, when].filter(Boolean).join(" "), panels, sidesLegend());
}

function shares(bins) {
  const all = bins.reduce((sum, nodes) => sum + nodes, 0);
  return all === 0 ? [] : bins.map((nodes, i) => ({ from: i / TENTHS, to: (i + 1) / TENTHS, nodes, share: nodes / all }));
}

function histogram(title, rows, sides) {
  const tip = (row) => `${row.side}, ${percent(row.from)} to ${percent(row.to)} full: ${count(row.nodes)} nodes, ${percent(row.share)} of them`;
  return {
    title,
    missing: rows.length === 0 ? "the tree has no such nodes" : null,
    draw: (width) => plot(width, {
      ariaLabel: `${title}, by fill level`,
      height: 80 + 100 * sides.length, marginTop: 16, marginLeft: 44, marginRight: 14,
      x: { domain: [0, 1], label: "fill level of the node", ticks: 5, tickFormat: percent },
      y: { domain: [0, Math.max(...rows.map((row) => row.share))], label: "share of the nodes", tickFormat: percent, ticks: 3, grid: true },
      fy: { domain: SIDES.filter((side) => sides.includes(side)), axis: null, padding: 0.12 },
      marks: [
        Plot.rectY(rows, { x1: "from", x2: "to", y: "share", fill: "side", fy: "side", insetLeft: 0.5, insetRight: 0.5, title: tip }),
        Plot.ruleY([0]),
      ],
    }),
  };
}

// What bytes are written for, from the first to the last, each with its name and colour.
function parts(tree) {
  const level = ({ write_amplification }, i) => [i === 0 ? "leaves" : `level ${i}`, `part-${Math.min(i, 3)}`, write_amplification];
  return [["log", "part-log", tree.log_write_amplification], ...tree.levels.map(level),
    ["maps and superblocks", "part-maps", tree.frame_write_amplification]];
}

function amplification(id, groups) {
  const all = groups.flatMap(({ trees }) => trees.flatMap(({ tree }) => parts(tree)));
  const keys = [...new Map(all.map(([name, colour]) => [name, colour]))];
  const top = Math.max(...groups.flatMap(({ trees }) => trees.map(({ tree }) => tree.write_amplification ?? 0)));
  return figure(id, "Write amplification by level", AMPLIFICATION, groups.map((group) => stack(group, top)), partsLegend(keys));
}

function stack({ name, across, trees }, top) {
  const rows = trees.flatMap(({ at, tree }) => parts(tree).filter(([, , value]) => value !== null)
    .map(([part, colour, value]) => ({ at, part, colour, value })));
  const tip = (row) => `${row.at}, ${row.part}: ${number(row.value)} bytes written per byte received`;
  const marks = trees.map(({ at }) => at);
  return {
    title: name,
    missing: rows.length === 0 ? "the tree has not received any data" : null,
    draw: (width) => plot(width, {
      ariaLabel: `${name}: write amplification by level`,
      height: 285, marginTop: 26, marginLeft: 44, marginRight: 14,
      color: { type: "identity" },
      x: { type: "band", domain: marks, label: across, ticks: marks.filter((_, i) => i % Math.ceil((45 * marks.length) / width) === 0) },
      y: { domain: [0, 1.05 * top], label: "bytes written per byte received", grid: true, ticks: 5 },
      marks: [
        Plot.barY(rows, { x: "at", y: "value", fill: (row) => `var(--${row.colour})`, title: tip }),
        Plot.ruleY([0]),
      ],
    }),
  };
}

// All that the figures show, as numbers.
function numbers(names, rows) {
  const levels = Math.max(...rows.map(({ tree }) => tree.levels.length));
  const level = (i) => (i === 0 ? "leaves" : `level ${i}`);
  const each = Array.from({ length: levels }, (_, i) => i);
  const plain = names.map((label) => ({ label }));
  const numeric = (labels) => labels.map((label) => ({ label, number: true }));
  const lie = ["Key-order layout score", "Layout score of their blocks", "Leaves", "Full", "Inner nodes", "Full"];
  const written = ["Write amplification", "log", ...each.map(level), "maps and superblocks"];
  const tenths = Array.from({ length: TENTHS }, (_, i) => `to ${percent((i + 1) / TENTHS)}`);
  const inner = (tree) => tree.levels.slice(1).reduce((sum, { nodes }) => sum + nodes, 0);
  return [
    table("Order of the leaves, and fill levels of the nodes.", [...plain, ...numeric(lie)],
      rows.map(({ names: of, tree }) => [...of, score(tree.key_order_layout_score), score(tree.layout_score),
        count(tree.levels[0].nodes), percent(tree.leaf_occupancy), count(inner(tree)), percent(tree.inner_node_occupancy)])),
    table("Nodes by fill level.", [...plain, { label: "Nodes" }, ...numeric(tenths)],
      rows.flatMap(({ names: of, tree }) => kinds(tree).map(([kind, bins]) => [...of, kind, ...bins.map(count)]))),
    table("Bytes written per byte received, by purpose.", [...plain, ...numeric(written)],
      rows.map(({ names: of, tree }) => [...of, number(tree.write_amplification), number(tree.log_write_amplification),
        ...each.map((i) => number(tree.levels[i]?.write_amplification)), number(tree.frame_write_amplification)])),
  ];
}
