// Published claims beside what was measured. The verdict is a word and a sign, so that it needs no colour.

import { el, section, table } from "./dom.js";

const VERDICTS = [
  { holds: true, kind: "holds", sign: "✓", word: "holds" },
  { holds: false, kind: "fails", sign: "✗", word: "does not hold" },
  { holds: null, kind: "open", sign: "?", word: "could not be judged" },
];

// Where an experiment is on the page, which may have two scales of one figure.
export const anchor = (e) => `${e.figure}-${e.scale}`;

function verdict(judged) {
  const { kind, sign, word } = VERDICTS.find(({ holds }) => holds === judged);
  return el("span", { class: `verdict ${kind}` }, el("b", {}, sign), " ", word);
}

export function checks(claims) {
  const columns = ["Claim", "Published", "Measured", "Here", "Why"].map((label) => ({ label }));
  return table("Published claims, and whether they hold here.", columns,
    claims.map((c) => [c.claim, c.published, c.measured, verdict(c.holds), because(c)]), "checks");
}

// By what a claim was judged, and, where it is known, why it does not hold.
function because(claim) {
  return claim.reason === "" ? claim.why : [claim.why, el("br"), el("em", {}, claim.reason)];
}

// How the claims of all experiments fared, with the way to each: the claims themselves stand with their figures.
export function verdicts(experiments) {
  const all = experiments.flatMap((e) => e.checks);
  const tally = (claims) => VERDICTS.map(({ holds }) => claims.filter((c) => c.holds === holds).length);
  const [holding, failing, open] = tally(all);
  const numbers = [...VERDICTS.map(({ sign, word }) => `${sign} ${word}`), "Failed cells"];
  const columns = [{ label: "Experiment" }, ...numbers.map((label) => ({ label, number: true })), { label: "Trend" }];
  const rows = experiments.map((e) =>
    [[link(e), ` (${e.scale}): ${e.title}`], ...tally(e.checks), e.failed.length, e.trend === null ? "" : verdict(e.trend)]);
  return section("claims", "Published claims",
    el("p", { class: "headline" }, all.length === 0 ? "No published claim was judged." : [
      el("b", {}, `${holding} of ${all.length}`), ` published claims ${holding === 1 ? "holds" : "hold"} here, `,
      el("b", {}, failing), ` ${failing === 1 ? "does" : "do"} not, `, el("b", {}, open), " could not be judged."]),
    table("The experiments of this page. The trend of a figure holds if its claims of a direction or an order hold, each for more than " +
      "half of its cases.", columns, rows, "stacked"));
}

function link(e) {
  return el("a", { href: `#${encodeURIComponent(anchor(e))}` }, e.figure);
}
