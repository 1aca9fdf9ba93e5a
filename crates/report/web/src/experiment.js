// A published figure measured again: its lines and pictures, then its claims judged, and what failed.

import { pictures } from "./blocks.js";
import { anchor, claims, differences, verdict } from "./claims.js";
import { el, pairs, section } from "./dom.js";
import { points } from "./raw.js";
import { series } from "./series.js";
import { treesByRound } from "./tree.js";

export function experiment(e, measures) {
  return section(anchor(e), e.title,
    el("p", { class: "aside" }, about(e), e.verdict === null ? null : [" The figure: ", verdict(e.verdict), "."]),
    failed(e.failed), differences(e),
    el("div", { class: "figures" }, e.plots.map((plot, i) => series(`${anchor(e)}-${i}`, plot))), treesByRound(e, measures), pictures(e),
    claims(e.claims), pairs("How it was measured.", e.method), points(e));
}

function about(e) {
  const name = el("code", {}, e.figure);
  if (e.source !== "") return [`After ${e.source}. Experiment `, name, `, scale ${e.scale}.`];
  return [e.scale === "metadata" ? "Objects created, looked up, read and deleted: " : "Measured after each round, aged and unaged: ", name, "."];
}

function failed(cells) {
  if (cells.length === 0) return null;
  const what = cells.length === 1 ? "One cell failed and is" : `${cells.length} cells failed and are`;
  return el("div", { class: "failed" }, el("p", {}, `${what} missing below:`),
    el("ul", {}, cells.map(({ cell, why }) => el("li", {}, el("strong", {}, cell), `: ${why}`))));
}
