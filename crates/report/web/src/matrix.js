// Conditions that differ in several facts: what each value does, all else equal, and each condition beside the first.

import { el, section, table } from "./dom.js";
import { charts, figureOf, SIDES } from "./figure.js";
import { forest, written } from "./forest.js";
import { spoken } from "./headline.js";
import { NONE } from "./format.js";

// The sides in the order in which the data has them.
const ORDER = ["aged", "unaged"];

export function matrix({ matrix: all }) {
  if (all === null) return null;
  const { how, facts, cells, effects } = all;
  return section("matrix", "What each choice does",
    figureOf("effects", `Scan cost of one value over that of another, all else equal, ${how}`,
      "Each row is one choice, over all combinations of the others: geometric mean with its 95 % confidence interval, each aging as one value. " +
      "“Slower in” some combinations and faster in others: what it does depends on the other choices. * Significant: below 5 % for all ratios " +
      "of this figure together (Holm), and at least 2 %.",
      charts(effects, (some) => forest("one over the other", some.map(row)))),
    table(`The conditions, each against the first, ${how}. * Significant, as above.`, columns(facts), cells.map(line), "stacked"));
}

function row({ fact, value, against, combinations, slower_in: slower, sides }) {
  const strips = SIDES.toReversed().map((side) => {
    const at = ORDER.indexOf(side);
    const among = combinations > 1 ? `; slower in ${slower[at]} of ${combinations} combinations` : "";
    return {
      about: `${fact} ${named(value)} against ${named(against)}, ${side}`, colour: `var(--${side})`, estimate: sides[at].ratio, points: [],
      told: [el("i", { class: "swatch", style: `--key: var(--${side})` }), ` ${side}: `, judged(sides[at]), among],
    };
  });
  return { name: [el("strong", {}, `${fact} ${named(value)}`), el("br"), el("small", { class: "aside" }, `against ${named(against)}`)], strips };
}

function columns(facts) {
  return [...facts, "aged over unaged", ...ORDER].map((label) => ({ label }));
}

function line({ values, ratio, against_first: sides }) {
  const beside = sides === null ? ORDER.map(() => "the first") : sides.map(judged);
  return [...values.map(named), ratio === null ? NONE : written(ratio), ...beside];
}

function judged({ verdict, is_significant: significant }) {
  return el("span", {}, spoken(verdict), significant ? " *" : "");
}

function named(value) {
  return value === "" ? "default" : value;
}
