// The measures of the page. What becomes of one follows from its topic, its unit and which values are better, never from its name.

import { table } from "./dom.js";
import { SIDES } from "./figure.js";
import { format } from "./format.js";

export function ofTopics(measures, ...topics) {
  return measures.filter(({ topic }) => topics.includes(topic));
}

// A share of what should be: 1 is best.
export function isScore({ unit, better }) {
  return unit === "share" && better === "higher";
}

// The label at the start of a title, with the unit where neither the label nor a value tells it.
export function heading({ label, unit }) {
  const words = label.split(/[ ,]+/);
  const told = ["B", "share", "ratio"].includes(unit) || [unit, unit.split("/")[0]].some((one) => words.includes(one));
  const title = label[0].toUpperCase() + label.slice(1);
  return told ? title : `${title} (${unit})`;
}

// The definition, and which values are better.
export function definition({ doc, better }) {
  return better === "neither" ? doc : `${doc} ${better === "lower" ? "Lower" : "Higher"} is better.`;
}

// The mean of a side over the agings, or null.
export function mean(side, { name }) {
  return side.values[name]?.mean ?? null;
}

export function isMeasured(c, measure) {
  return SIDES.some((side) => mean(c[side], measure) !== null);
}

// The numbers of both sides of all comparisons.
export function numbers(caption, comparisons, measures) {
  const columns = [{ label: "" }, ...measures.map((measure) => ({ label: heading(measure), number: true }))];
  const rows = comparisons.flatMap((c) => SIDES.map((side) =>
    [`${c.name}, ${side}`, ...measures.map((measure) => format(measure, mean(c[side], measure)))]));
  return measures.length === 0 ? null : table(caption, columns, rows);
}
