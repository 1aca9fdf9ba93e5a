// Reads the numbers embedded in the page and lays out its sections.

import { blocks } from "./blocks.js";
import { verdicts } from "./checks.js";
import { cost } from "./cost.js";
import { el, pairs, section, table } from "./dom.js";
import { experiment } from "./experiment.js";
import { show } from "./figure.js";
import { fit } from "./fit.js";
import { NONE } from "./format.js";
import { free } from "./free.js";
import { headline, summary } from "./headline.js";
import { layout } from "./layout.js";
import { raw } from "./raw.js";
import { trees } from "./tree.js";

function header(page) {
  const made = new Date(page.made);
  const when = Number.isNaN(made.getTime()) ? page.made : made.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" });
  return el("header", {}, el("h1", {}, page.title), el("p", { class: "aside" }, `${page.tool}, `, el("time", { datetime: page.made }, when)),
    page.notes.map((note) => el("p", { class: "note" }, note)));
}

function how({ measured_by, drawn_by, machine, method, comparisons, measures }) {
  const columns = ["", "File system", "Version", "Created with", "Seeds"].map((label) => ({ label }));
  const made = comparisons.map((c) => [c.name, c.fs, c.fs_version, el("code", {}, c.mkfs), el("code", {}, c.agings.map(({ seed }) => seed).join(", "))]);
  return section("how", "Machine and method",
    measured_by.length === 0 ? null : [el("p", {}, "To repeat these measurements:"),
      el("pre", {}, el("code", {}, measured_by.join("\n")))],
    el("p", {}, "To create this page again from the store: ", el("code", {}, drawn_by)),
    pairs("The machine.", machine), pairs("The method.", method), table("The file systems.", columns, made), definitions(measures));
}

function definitions(measures) {
  const columns = ["Measure", "Unit", "Better", "Definition"].map((label) => ({ label }));
  return table("The measures.", columns, measures.filter(({ topic }) => topic !== null).map(({ label, unit, better, doc }) =>
    [label, unit, better === "neither" ? NONE : better, doc]));
}

function compared(page) {
  if (page.comparisons.length === 0) return [];
  return [headline, summary, cost, layout, free, trees, blocks, fit].map((part) => part(page)).filter(Boolean);
}

function nothing() {
  return el("p", { class: "missing" }, "Nothing has been measured yet. ", el("code", {}, "senesce demo"),
    " ages a file system and compares it with a fresh one; ",
    el("code", {}, "senesce reproduce fast17-fig1"), " repeats a published figure.");
}

const data = document.getElementById("data");
const report = document.getElementById("report");
// A page of one run has a head of its own.
const alone = report.dataset.part === undefined;

function parts() {
  const page = JSON.parse(data.textContent);
  // A series of one's own repeats no publication.
  const published = page.experiments.filter((e) => e.source !== "");
  const judged = published.length > 0 && alone ? [verdicts(published)] : [];
  const all = [...judged, ...compared(page), ...page.experiments.map((e) => experiment(e, page.measures))];
  const rows = page.comparisons.length > 0 ? [raw(page)] : [];
  return alone ? [header(page), ...(all.length > 0 ? all : [nothing()]), how(page), ...rows] : all;
}

const draw = () => show(report, parts);
draw();
// Numbers may come while the page is looked at.
data.addEventListener("change", draw);
