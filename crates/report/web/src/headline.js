// What a reader should take home: a sentence and a row for each file system.

import { el, section, table } from "./dom.js";
import { bytes, format, NONE, percent, ratio, spread } from "./format.js";
import { heading, mean, ofTopics } from "./measures.js";

export function headline({ comparisons, contrasts }) {
  return section("headline", "Effect of aging",
    el("ul", { class: "headline" }, comparisons.map((c) => el("li", {}, sentence(c))),
      contrasts.map((contrast) => el("li", {}, contrasted(contrast)))),
    el("p", { class: "aside" },
      "Each comparison is of aged file systems, which differ in their seeds, with the same files copied to fresh ones. ", tag("measured"),
      " is wall-clock time on the machine below; ", tag("modelled"),
      " is the time of a model of a disk. In brackets: 95 % confidence interval over the agings."));
}

function sentence(c) {
  const name = el("strong", {}, c.name);
  if (c.modelled === null && c.measured === null) return [name, ": the cost of a scan was not measured."];
  const told = ({ how, verdict }, kind) => [spoken(verdict), `, ${how} `, tag(kind)];
  const modelled = c.modelled ? told(c.modelled, "modelled") : ["not scanned on a modelled disk"];
  const measured = c.measured ? told(c.measured, "measured") : ["not timed here"];
  return [name, ", aged against unaged: ", ...modelled, "; ", ...measured, "."];
}

function contrasted({ name, against, differing, aged, unaged }) {
  return [el("strong", {}, name), " against ", el("strong", {}, against), ` (${differing}), ${aged.how}: aged `,
    spoken(aged.verdict), "; unaged ", spoken(unaged.verdict), "."];
}

function spoken({ told, text }) {
  return el(told === "more" || told === "less" ? "b" : "span", {}, text);
}

function tag(kind) {
  return el("span", { class: `tag ${kind}` }, kind);
}

// More comparisons than these are rows of the summary, not columns.
const FEW = 6;

// The conditions, what aging does to each cost, and what it does to all else that every comparison shows.
export function summary({ comparisons, measures }) {
  const costs = ofTopics(measures, "cost");
  const others = measures.filter((measure) => measure.always && !costs.includes(measure));
  const facts = [
    ["Size", (c) => bytes(c.size_bytes)], ["Full", (c) => percent(c.fullness)], ["Profile", (c) => c.profile],
    ...costs.map((measure) => [heading(measure), (c) => growth(c, measure)]),
    ...others.map((measure) => [heading(measure), (c) => change(c, measure)]),
  ];
  const few = comparisons.length <= FEW;
  const names = few ? comparisons.map((c) => c.name) : facts.map(([label]) => label);
  const rows = few ? facts.map(([label, of]) => [label, ...comparisons.map(of)])
    : comparisons.map((c) => [el("strong", {}, c.name), ...facts.map(([, of]) => of(c))]);
  return section("summary", "Summary",
    table("Means over the agings. Costs: aged over unaged, with the 95 % confidence interval. All else: unaged → aged.",
      [{ label: "" }, ...names.map((label) => ({ label, number: true }))], rows));
}

function growth(c, { name, by_disk: byDisk }) {
  const grown = c.ratios[name];
  return grown ? `${spread(grown, ratio)}${byDisk ? `, ${c.modelled_disk}` : ""}` : NONE;
}

function change(c, measure) {
  const [before, after] = [c.unaged, c.aged].map((side) => format(measure, mean(side, measure)));
  return before === NONE && after === NONE ? NONE : `${before} → ${after}`;
}
