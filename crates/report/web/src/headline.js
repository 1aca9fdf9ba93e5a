// What a reader should take home: a sentence and a row for each file system.

import { el, section, table } from "./dom.js";
import { bytes, format, hasEnds, NONE, percent, ratio, spread } from "./format.js";
import { heading, median, ofTopics } from "./measures.js";

export function headline({ comparisons }) {
  return section("headline", "Effect of aging",
    el("ul", { class: "headline" }, comparisons.map((c) => el("li", {}, sentence(c)))),
    el("p", { class: "aside" },
      "Each comparison is of an aged file system with the same files copied to a fresh one. ", tag("measured"),
      " is wall-clock time on the machine below; ", tag("modelled"),
      " is the time of a model of a 7200 rpm disk. In brackets: 95 % confidence interval."));
}

function sentence(c) {
  const name = el("strong", {}, c.name);
  if (c.modelled === null && c.measured === null) return [name, ": the cost of a scan was not measured."];
  const told = ({ measure, how }, kind) => [verdict(c.ratios[measure]), ` ${how} `, tag(kind)];
  const modelled = c.modelled ? told(c.modelled, "modelled") : ["was not scanned on a modelled disk"];
  const measured = c.measured ? told(c.measured, "measured") : ["was not timed here"];
  return [name, " ", ...modelled, "; ", ...measured, "."];
}

function verdict(interval) {
  const { median, low, high } = interval;
  const same = hasEnds(interval) ? low <= 1 && high >= 1 : median === 1;
  const ends = hasEnds(interval) ? ` [${ratio(low)} – ${ratio(high)}]` : "";
  if (same) return ["reads about as fast as unaged", el("small", {}, ` (${ratio(median)}${ends})`)];
  const text = median > 1 ? `${ratio(median)} slower` : `${ratio(1 / median)} faster`;
  const shown = median > 1 ? ends : ends && ` [${ratio(1 / high)} – ${ratio(1 / low)}]`;
  return ["reads ", el("b", {}, text), el("small", {}, shown)];
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
    table("Costs: aged over unaged, with the 95 % confidence interval. All else: unaged → aged.",
      [{ label: "" }, ...names.map((label) => ({ label, number: true }))], rows));
}

function growth(c, { name, by_disk: byDisk }) {
  const grown = c.ratios[name];
  return grown ? `${spread(grown, ratio)}${byDisk ? `, ${c.modelled_disk}` : ""}` : NONE;
}

function change(c, measure) {
  const [before, after] = [c.unaged, c.aged].map((side) => format(measure, median(side, measure)));
  return before === NONE && after === NONE ? NONE : `${before} → ${after}`;
}
