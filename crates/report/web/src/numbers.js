// The numbers behind the figures of the comparisons: their conditions, and all measures by topic.

import { el, section, table } from "./dom.js";
import { SIDES } from "./figure.js";
import { bytes, format, NONE, percent, ratio, spread } from "./format.js";
import { FEW } from "./headline.js";
import { heading, mean, ofTopics } from "./measures.js";

const TOPICS = [
  ["Cost and work of a scan, unaged → aged.", "cost", "work"],
  ["Modelled cost of a scan with one cause taken away, unaged → aged.", "causes"],
  ["Layout of all files, unaged → aged.", "layout"],
  ["Free space, and a new file written to it, unaged → aged.", "free_space", "new_file"],
];

export function numbers({ comparisons, measures }) {
  const growing = ofTopics(measures, "cost").filter(({ name }) => comparisons.some((c) => c.ratios[name]));
  const conditions = [
    ["File system", (c) => c.fs],
    ["Size", (c) => bytes(c.size_bytes)], ["Full", (c) => percent(c.fullness)], ["Profile", (c) => c.profile],
    ["Seeds", (c) => el("code", {}, c.agings.map(({ seed }) => seed).join(", "))],
  ];
  const costs = growing.map((measure) => [heading({ ...measure, unit: "ratio" }), (c) => growth(c, measure)]);
  return section("numbers", "Numbers",
    matrix("The conditions.", comparisons, conditions, "text"),
    matrix("Costs, aged over unaged, with the 95 % confidence interval over the agings.", comparisons, costs),
    TOPICS.map(([caption, ...topics]) => matrix(caption, comparisons,
      ofTopics(measures, ...topics).map((measure) => [heading(measure), (c) => change(c, measure)]))),
    matrix("The aging.", comparisons, aging(comparisons, measures)));
}

// Of few comparisons each is a column, of many a row. `facts` are a label and what it is of a comparison.
function matrix(caption, comparisons, facts, kind = "number") {
  if (facts.length === 0) return null;
  const few = comparisons.length <= FEW;
  const labels = few ? comparisons.map((c) => c.name) : facts.map(([label]) => label);
  const rows = few ? facts.map(([label, of]) => [label, ...comparisons.map(of)])
    : comparisons.map((c) => [el("strong", {}, c.name), ...facts.map(([, of]) => of(c))]);
  return table(caption, [{ label: "" }, ...labels.map((label) => ({ label, number: kind === "number" }))], rows, few ? "stacked" : "plain");
}

function aging(comparisons, measures) {
  const rows = ofTopics(measures, "aging").map((measure) => [heading(measure), (c) => format(measure, c.aging.values[measure.name] ?? null)]);
  return rows.length === 0 && comparisons.every((c) => c.aging.stopped_by === "") ? []
    : [...rows, ["Stopped by", (c) => c.aging.stopped_by || NONE]];
}

function growth(c, { name, by_disk: byDisk }) {
  const grown = c.ratios[name];
  return grown ? `${spread(grown, ratio)}${byDisk ? `, ${c.modelled_disk}` : ""}` : NONE;
}

function change(c, measure) {
  const [before, after] = SIDES.map((side) => format(measure, mean(c[side], measure)));
  return before === after ? before : `${before} → ${after}`;
}
