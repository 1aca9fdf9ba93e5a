// Every single measurement, to look at and to take away.

import { el, folded, section, unfolded } from "./dom.js";
import { SIDES } from "./figure.js";
import { bytes, NONE } from "./format.js";

const COLUMNS = ["comparison", "seed", "side", "measure", "unit", "repetition", "value"];
const POINT_COLUMNS = ["experiment", "figure", "file system", "disk", "side", "option",
  "x axis", "x", "y axis", "y", "low", "high"];

// More rows than these take a browser longer than a reader waits.
const MANY = 2000;

export function raw({ comparisons, measures }) {
  const rows = comparisons.flatMap((c) => SIDES.flatMap((side) =>
    c[side].raw.map((m) => [c.name, m.seed, side, m.measure, m.unit, m.repetition, m.value])));
  if (rows.length === 0) return section("raw", "Raw numbers", el("p", { class: "missing" }, "not measured: no probe ran"));
  const labels = new Map(measures.map(({ name, label }) => [name, label]));
  const labelled = ([name, seed, side, measure, unit, repetition, value]) => [name, seed, side, labels.get(measure) ?? measure,
    ...(unit === "B" ? ["", repetition, bytes(value)] : [unit, repetition, value])];
  const all = () => numbers("Every measurement.", COLUMNS, rows, labelled);
  return section("raw", "Raw numbers", rows.length > MANY ? folded(`${rows.length} measurements`, all) : all());
}

// The points of an experiment's lines, folded away until someone asks for them.
export function points({ figure, plots }) {
  const name = ({ label, unit }) => (unit === "" ? label : `${label} (${unit})`);
  const rows = plots.flatMap(({ title, x, y, lines }) => lines.flatMap((line) => line.points.map((p) =>
    [figure, title, line.fs, line.disk, line.side, line.option, name(x), p.x, name(y), p.y, p.low, p.high])));
  if (rows.length === 0) return null;
  return folded("Raw numbers", () => numbers("Every point of the lines above.", POINT_COLUMNS, rows));
}

// `told` says how the table, which is to be read, has a row of the CSV.
function numbers(caption, names, rows, told = (row) => row) {
  const columns = names.map((label, i) => ({ label, number: typeof rows[0][i] === "number" }));
  return [copier(csv([names, ...rows.map((row) => row.map((cell) => String(cell ?? "")))])),
    el("div", { class: "tall" }, unfolded(caption, columns, rows.map((row) => told(row).map(shown))))];
}

// In the table a value has as many digits as a reader can use; as CSV it has all of them.
function shown(cell) {
  return typeof cell === "number" ? Number(cell.toPrecision(6)) : cell ?? NONE;
}

// Comma-separated values as RFC 4180 has them.
function csv(rows) {
  const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

function copier(text) {
  const said = el("span", { role: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = "Copied.";
    } catch {
      // Browsers keep the clipboard from pages that came over plain HTTP; a selected text can still be copied by hand.
      const area = el("textarea", { readonly: "", rows: "8", "aria-label": "Raw numbers as CSV" });
      area.textContent = text;
      said.replaceChildren("This browser blocks copying by pages. The text is selected: copy it with Ctrl-C or ⌘C.", area);
      area.select();
    }
  };
  return el("p", { class: "copier" }, el("button", { type: "button", onclick: copy }, "Copy as CSV"), " ", said);
}
