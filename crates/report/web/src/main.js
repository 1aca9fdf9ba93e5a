// Reads the numbers embedded in the page and lays out its sections.

import { blocks } from "./blocks.js";
import { cost } from "./cost.js";
import { el, pairs, section, table } from "./dom.js";
import { fit } from "./fit.js";
import { free } from "./free.js";
import { headline, summary } from "./headline.js";
import { layout } from "./layout.js";
import { raw } from "./raw.js";

function header(page) {
  const made = new Date(page.made);
  const when = Number.isNaN(made.getTime()) ? page.made : made.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" });
  return el("header", {}, el("h1", {}, page.title), el("p", { class: "aside" }, `${page.tool}, `, el("time", { datetime: page.made }, when)),
    page.notes.map((note) => el("p", { class: "note" }, note)));
}

function how({ command, machine, method, comparisons }) {
  const columns = ["", "File system", "Version", "Made with", "Seed"].map((label) => ({ label }));
  const made = comparisons.map((c) => [c.name, c.fs, c.fs_version, el("code", {}, c.mkfs), el("code", {}, c.seed)]);
  return section("how", "Machine and method",
    el("p", {}, "To measure all this again: ", el("code", {}, command)),
    pairs("The machine.", machine), pairs("The method.", method), table("The file systems.", columns, made));
}

const page = JSON.parse(document.getElementById("data").textContent);
const { comparisons } = page;
const parts = [headline, summary, cost, layout, free, blocks, fit].map((part) => part(comparisons));
document.getElementById("report").replaceChildren(header(page),
  ...(comparisons.length > 0 ? parts : [el("p", { class: "missing" }, "not measured: no comparison has been run yet")]),
  how(page), raw(comparisons));
