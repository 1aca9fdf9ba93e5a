// Of a file system that is a tree: how its leaves lie in the order of their keys, how full its nodes are, and what writing them
// has cost, level by level.

import * as Plot from "@observablehq/plot";
import { anchor } from "./claims.js";
import { el, section, table } from "./dom.js";
import { figure, plot, SIDES, sidesLegend, partsLegend } from "./figure.js";
import { count, format, number, percent, score } from "./format.js";
import { definition, heading, isMeasured, isScore, mean, ofTopics } from "./measures.js";
import { series } from "./series.js";

const TENTHS = 10;

const OCCUPANCY = "Share of the nodes (height) by fill level, in tenths of the largest node. Leaves hold files and names, inner " +
  "nodes buffer updates for them.";
const AMPLIFICATION = "Bytes written to the disk per byte of keys and values received since the file system was created, by " +
  "purpose: the log, the leaves, each level of inner nodes above them, and maps and superblocks.";

// Of comparisons; their scores stand among the layout scores.
export function trees({ comparisons, measures }) {
  const ofTrees = ofTopics(measures, "tree");
  const seen = comparisons.filter((c) => SIDES.some((side) => c[side].tree));
  const measured = comparisons.filter((c) => seen.includes(c) || ofTrees.some((measure) => isMeasured(c, measure)));
  if (measured.length === 0) return null;
  const groups = seen.map((c) => ({
    name: c.name,
    trees: SIDES.filter((side) => c[side].tree).map((side) => ({ side, at: side, tree: c[side].tree })),
  }));
  const rows = measured.flatMap((c) => SIDES.map((side) =>
    ({ names: [c.name, side], tree: c[side].tree, value: (measure) => mean(c[side], measure) })));
  return section("tree", "Tree on disk",
    groups.length === 0 ? null : [occupancy("tree-occupancy", groups, ""),
      amplification("tree-amplification", groups.map((group) => ({ ...group, across: "side" })))],
    numbers(["", "Side"], rows, ofTrees));
}

// Of an experiment, by round.
export function treesByRound(e, measures) {
  if (e.trees.length === 0) return null;
  const name = ({ fs, option }) => [fs, option].filter(Boolean).join(", ");
  const names = [...new Set(e.trees.map(name))];
  const of = (wanted, side) => e.trees.filter((at) => name(at) === wanted && at.side === side)
    .map(({ round, tree, values }) => ({ side, round, at: String(round), tree, values }));
  const last = (trees) => trees.slice(-1);
  const id = `${anchor(e)}-tree`;
  const ofTrees = ofTopics(measures, "tree");
  const lines = (measure) => names.flatMap((wanted) => SIDES.map((side) => {
    const [{ fs, option }] = e.trees.filter((at) => name(at) === wanted);
    const points = of(wanted, side).map(({ round, values }) => ({ x: round, y: values[measure.name] ?? NaN, low: null, high: null }));
    return { fs, disk: "", side, option, points };
  }));
  const drawn = (measure) => series(`${id}-${measure.name}`, {
    title: heading(measure), x: e.round, y: { label: measure.label, unit: "", log: false }, lines: lines(measure), note: definition(measure), panels: "disk",
  });
  const rows = e.trees.map((at) =>
    ({ names: [name(at), at.side, count(at.round)], tree: at.tree, value: (measure) => at.values[measure.name] ?? null }));
  return [
    ofTrees.filter(isScore).map(drawn),
    occupancy(`${id}-occupancy`, names.map((wanted) => ({ name: wanted, trees: SIDES.flatMap((side) => last(of(wanted, side))) })),
      "After the last round."),
    amplification(`${id}-amplification`, names.flatMap((wanted) => SIDES.map((side) =>
      ({ name: `${wanted}, ${side}`, across: e.round.label, trees: of(wanted, side) })).filter(({ trees }) => trees.length > 0))),
    el("details", {}, el("summary", {}, "Numbers of the tree"), numbers(["", "Side", e.round.label], rows, ofTrees)),
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
  const written = (tree) => parts(tree).reduce((sum, [, , value]) => sum + (value ?? 0), 0);
  const top = Math.max(...groups.flatMap(({ trees }) => trees.map(({ tree }) => written(tree))));
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

// All that the figures show, as numbers. A row is {names, tree, value}: the value of a measure, and the tree, if there is one.
function numbers(names, rows, measures) {
  const drawn = rows.filter(({ tree }) => tree);
  const levels = Math.max(0, ...drawn.map(({ tree }) => tree.levels.length));
  const level = (i) => (i === 0 ? "leaves" : `level ${i}`);
  const each = Array.from({ length: levels }, (_, i) => i);
  const plain = names.map((label) => ({ label }));
  const numeric = (labels) => labels.map((label) => ({ label, number: true }));
  const nodes = ["Layout score of the leaves' blocks", "Leaves", "Inner nodes"];
  const tenths = Array.from({ length: TENTHS }, (_, i) => `to ${percent((i + 1) / TENTHS)}`);
  const inner = (tree) => tree.levels.slice(1).reduce((sum, { nodes }) => sum + nodes, 0);
  return [
    measures.length === 0 ? null : table("The tree.", [...plain, ...numeric(measures.map(heading))],
      rows.map(({ names: of, value }) => [...of, ...measures.map((measure) => format(measure, value(measure)))])),
    table("Its nodes.", [...plain, ...numeric(nodes)],
      drawn.map(({ names: of, tree }) => [...of, score(tree.blocks_score), count(tree.levels[0].nodes), count(inner(tree))])),
    table("Nodes by fill level.", [...plain, { label: "Nodes" }, ...numeric(tenths)],
      drawn.flatMap(({ names: of, tree }) => kinds(tree).map(([kind, bins]) => [...of, kind, ...bins.map(count)]))),
    table("Bytes written per byte received, by purpose.", [...plain, ...numeric(["log", ...each.map(level), "maps and superblocks"])],
      drawn.map(({ names: of, tree }) => [...of, number(tree.log_write_amplification),
        ...each.map((i) => number(tree.levels[i]?.write_amplification)), number(tree.frame_write_amplification)])),
  ];
}
