// What a reader should take home: a sentence and a row for each file system.

import { el, section, table } from "./dom.js";
import { bytes, hasEnds, NONE, number, percent, ratio, score, spread } from "./format.js";
import { freeExtents } from "./free.js";

export function headline(comparisons) {
  return section("headline", "Effect of aging",
    el("ul", { class: "headline" }, comparisons.map((c) => el("li", {}, sentence(c)))),
    el("p", { class: "aside" },
      "Each comparison is of an aged file system with the same files copied to a fresh one. ", tag("measured"),
      " is wall-clock time on the machine below; ", tag("modelled"),
      " is what the same requests cost on a model of a 7200 rpm disk. In brackets: 95 % confidence interval."));
}

function sentence(c) {
  const name = el("strong", {}, c.name);
  if (c.modelled_ratio === null && c.aging_ratio === null) return [name, ": the cost of a scan was not measured."];
  const modelled = c.modelled_ratio
    ? [verdict(c.modelled_ratio), " on a modelled 7200 rpm disk ", tag("modelled")]
    : ["was not scanned on a modelled disk"];
  const measured = c.aging_ratio ? [verdict(c.aging_ratio), " here ", tag("measured")] : ["was not timed here"];
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

export function summary(comparisons) {
  const change = (c, write) => {
    const [before, after] = [write(c.unaged), write(c.aged)];
    return before === NONE && after === NONE ? NONE : `${before} → ${after}`;
  };
  const columns = [
    { label: "File system" }, { label: "Size", number: true }, { label: "Full", number: true }, { label: "Profile" },
    { label: "Aging ratio, modelled disk", number: true }, { label: "Aging ratio, measured", number: true },
    { label: "Layout score", number: true }, { label: "Degree of fragmentation", number: true },
    { label: "Free extents", number: true },
  ];
  const rows = comparisons.map((c) => [
    el("strong", {}, c.name), bytes(c.size_bytes), percent(c.fullness), c.profile,
    spread(c.modelled_ratio, ratio), spread(c.aging_ratio, ratio),
    change(c, (side) => score(side.layout_score)), change(c, (side) => number(side.degree_of_fragmentation)),
    change(c, freeExtents),
  ]);
  return section("summary", "Summary",
    table("Unaged → aged. Aging ratio: scan cost aged/unaged, with its 95 % confidence interval.", columns, rows));
}
