// The measures of the page. What becomes of one follows from its topic, its unit and which values are better, never from its name.

import { SIDES } from "./figure.js";

export function ofTopics(measures, ...topics) {
  return measures.filter(({ topic }) => topics.includes(topic));
}

// A share of what should be: 1 is best.
export function isScore({ unit, better }) {
  return unit === "share" && better === "higher";
}

// Units that a written value tells, or does not need.
export const TOLD = ["B", "s", "share", "ratio"];

// The label at the start of a title, with the unit where neither the label nor a value tells it.
export function heading({ label, unit }) {
  const words = label.split(/[ ,]+/);
  const told = TOLD.includes(unit) || [unit, unit.split("/")[0]].some((one) => words.includes(one));
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
