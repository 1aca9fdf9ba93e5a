// What a reader should take home: a sentence for each condition, and the ratios behind them.

import { el, section } from "./dom.js";
import { charts, figureOf } from "./figure.js";
import { forest, written } from "./forest.js";
import { count, ratio } from "./format.js";

// Of more comparisons than these, the sentences stand beside the ratios, and one sentence counts them.
export const FEW = 6;

const KINDS = ["modelled", "measured"];

export function headline({ comparisons, answer }) {
  const few = comparisons.length <= FEW;
  return section("headline", "Effect of aging",
    few ? el("ul", { class: "headline" }, comparisons.map((c) => el("li", {}, sentence(c)))) : el("p", { class: "headline" }, answer),
    comparisons.every((c) => KINDS.every((kind) => c[kind] === null)) ? null : figureOf("effect", "Scan cost, aged over unaged",
      "Large dot and line: geometric mean over the agings, which differ in their seeds, with its 95 % confidence interval. Small circles: " +
      "the agings. At 1× the aged file system costs as much as the same files copied to a fresh one.",
      KINDS.map((kind) => effects(comparisons, kind, few))));
}

function sentence(c) {
  const name = el("strong", {}, c.name);
  if (c.modelled === null && c.measured === null) return [name, ": the cost of a scan was not measured."];
  const told = ({ how, verdict }, kind) => [spoken(verdict), `, ${how} `, tag(kind)];
  const modelled = c.modelled ? told(c.modelled, "modelled") : ["not scanned on a modelled disk"];
  const measured = c.measured ? told(c.measured, "measured") : ["not timed here"];
  return [name, ", aged against unaged: ", ...modelled, "; ", ...measured, "."];
}

export function spoken({ told, text }) {
  return el(told === "more" || told === "less" ? "b" : "span", {}, text);
}

function tag(kind) {
  return el("span", { class: `tag ${kind}` }, kind);
}

// The rows of one kind of cost, below what it is.
function effects(comparisons, kind, few) {
  const shown = comparisons.filter((c) => c[kind]);
  if (shown.length === 0) return null;
  const hows = [...new Set(shown.map((c) => c[kind].how))];
  const row = (c) => {
    const { measure, how, ratio: estimate, verdict } = c[kind];
    const points = c.agings.filter((aging) => measure in aging.ratios)
      .map(({ seed, ratios }) => ({ value: ratios[measure], title: `seed ${seed}: ${ratio(ratios[measure])}` }));
    const of = `${count(estimate.n)} ${estimate.n === 1 ? "aging" : "agings"}`;
    const told = [...(few ? [el("b", {}, written(estimate)), `, ${of}`] : [spoken(verdict)]), hows.length > 1 ? `, ${how}` : ""];
    return { name: el("strong", {}, c.name), strips: [{ about: `${c.name}, ${how}`, colour: "var(--aged)", estimate, points, told }] };
  };
  const title = el("h4", {}, tag(kind), hows.length === 1 ? ` ${hows[0]}` : "");
  return [title, charts(shown, (some) => forest("aged over unaged", some.map(row)))];
}
