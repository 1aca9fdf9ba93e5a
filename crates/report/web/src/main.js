// Reads the numbers embedded in the page and lays out its sections.

import { blocks } from "./blocks.js";
import { causes } from "./causes.js";
import { change } from "./change.js";
import { verdicts } from "./claims.js";
import { contrasts } from "./contrasts.js";
import { el, pairs, section, table } from "./dom.js";
import { experiment } from "./experiment.js";
import { show } from "./figure.js";
import { fit } from "./fit.js";
import { NONE } from "./format.js";
import { headline } from "./headline.js";
import { matrix } from "./matrix.js";
import { numbers } from "./numbers.js";
import { raw } from "./raw.js";
import { free, sizes } from "./spread.js";
import { trees } from "./tree.js";

function header(page) {
  const made = new Date(page.made);
  const when = Number.isNaN(made.getTime()) ? page.made : made.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" });
  return el("header", {}, el("h1", {}, page.title), el("p", { class: "aside" }, `${page.tool}, `, el("time", { datetime: page.made }, when)));
}

function how({ measured_by, drawn_by, machine, method, comparisons, measures }) {
  const columns = ["", "Version", "Created with"].map((label) => ({ label }));
  const made = comparisons.map((c) => [c.name, c.fs_version, el("code", {}, c.mkfs)]);
  return section("how", "Machine and method",
    measured_by.length === 0 ? null : [el("p", {}, "To repeat these measurements:"),
      el("pre", {}, el("code", {}, measured_by.join("\n")))],
    el("p", {}, "To create this page again from the store: ", el("code", {}, drawn_by)),
    pairs("The machine.", machine), pairs("The method.", method), table("The file systems.", columns, made, "stacked"), definitions(measures));
}

function definitions(measures) {
  const columns = ["Measure", "Unit", "Better", "Definition"].map((label) => ({ label }));
  return table("The measures.", columns, measures.filter(({ topic }) => topic !== null).map(({ label, unit, better, doc }) =>
    [label, unit, better === "neither" ? NONE : better, doc]));
}

// The figures of the comparisons: `first` what aging does, `rest` where it is seen.
const FIRST = [headline, notes, matrix, contrasts, change, causes, sizes, free];
const REST = [trees, blocks, fit];

function figures(page, parts) {
  return page.comparisons.length === 0 ? [] : parts.map((part) => part(page)).filter(Boolean);
}

function notes({ notes: all }) {
  return all.length === 0 ? null : el("aside", { "aria-label": "Notes" }, all.map((note) => el("p", { class: "note" }, note)));
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
  const [published, own] = [true, false].map((is) => page.experiments.filter((e) => (e.source !== "") === is));
  const shown = (all) => all.map((e) => experiment(e, page.measures));
  const judged = published.length > 0 && alone ? [verdicts(published)] : [];
  const all = [...figures(page, FIRST), ...shown(own), ...figures(page, REST), ...judged, ...shown(published)];
  if (!alone) return all;
  const tables = page.comparisons.length > 0 ? [numbers(page)] : [];
  const rows = page.comparisons.length > 0 ? [raw(page)] : [];
  return [header(page), ...(all.length > 0 ? all : [nothing()]), ...tables, how(page), ...rows];
}

const draw = () => show(report, parts);
draw();
// Numbers may come while the page is looked at.
data.addEventListener("change", draw);
