// Published claims beside what was measured. The verdict is a word and a sign, so that it needs no colour.

import { el, section, table } from "./dom.js";

const VERDICTS = {
  holds: { kind: "holds", sign: "✓", word: "holds" },
  trend_only: { kind: "holds", sign: "↗", word: "trend only" },
  does_not_hold: { kind: "fails", sign: "✗", word: "does not hold" },
  cannot_be_told: { kind: "open", sign: "?", word: "cannot be told" },
};

// Where an experiment is on the page, which may have two scales of one figure.
export const anchor = (e) => `${e.figure}-${e.scale}`;

export function verdict(judged) {
  const { kind, sign, word } = VERDICTS[judged];
  return el("span", { class: `verdict ${kind}` }, el("b", {}, sign), " ", word);
}

export function claims(all) {
  const columns = ["Where", "Claim", "Published", "Measured", "Here"].map((label) => ({ label }));
  return table("Published claims, and whether they hold here. Within 25 % of a published number a claim holds; if only the direction is the " +
    "published one, it is \u201ctrend only\u201d.", columns,
    all.map((c) => [c.section, [c.states, ...because(c)], c.published, measured(c), verdict(c.verdict)]), "claims");
}

// Why it does not hold, where that is known.
const because = ({ why }) => why === "" ? [] : [el("br"), el("em", {}, why)];

// What was measured, with the verdict on each line where they differ.
function measured({ lines, verdict: all }) {
  return lines.map(({ line, measured: value, why, verdict: own }) => el("div", { class: "line" },
    own === all ? "" : el("b", { title: VERDICTS[own].word }, VERDICTS[own].sign, " "), line === "" ? "" : `${line}: `, value === "" ? why : value));
}

// What differs from the publication, before anything else is read.
export function differences(e) {
  if (e.differs.length === 0) return null;
  const instead = ({ here, missing }) => missing ? `missing: ${missing}` : here;
  return table("What differs from the publication.", [{ label: "Published" }, { label: "Here" }],
    e.differs.map((d) => [d.published, instead(d)]), "plain");
}

// How the claims of all experiments fared, with the way to each: the claims themselves stand with their figures.
export function verdicts(experiments) {
  const all = experiments.flatMap((e) => e.claims);
  const kinds = Object.keys(VERDICTS);
  const tally = (claims) => kinds.map((kind) => claims.filter((c) => c.verdict === kind).length);
  const [hold, trend, fail, open] = tally(all);
  const numbers = [...kinds.map((kind) => `${VERDICTS[kind].sign} ${VERDICTS[kind].word}`), "Failed cells"];
  const columns = [{ label: "Experiment" }, ...numbers.map((label) => ({ label, number: true })), { label: "Figure" }];
  const rows = experiments.map((e) =>
    [[link(e), ` (${e.scale}): ${e.title}`], ...tally(e.claims), e.failed.length, e.verdict === null ? "" : verdict(e.verdict)]);
  return section("claims", "Published claims",
    el("p", { class: "headline" }, all.length === 0 ? "No published claim was judged." : [
      el("b", {}, `${hold} of ${all.length}`), ` published claims ${hold === 1 ? "holds" : "hold"} here, `, el("b", {}, trend),
      " in the trend only, ", el("b", {}, fail), ` ${fail === 1 ? "does" : "do"} not, `, el("b", {}, open), " cannot be told."]),
    table("The experiments of this page. A figure holds if all its claims do, at least in their trend, and nothing of it is missing; " +
      "\u201ctrend only\u201d if more than half of them do.", columns, rows, "stacked"));
}

function link(e) {
  return el("a", { href: `#${encodeURIComponent(anchor(e))}` }, e.figure);
}
