// Every single measurement, to look at and to take away.

import { el, section, table } from "./dom.js";
import { SIDES } from "./figure.js";

const COLUMNS = ["comparison", "side", "measure", "unit", "repetition", "value"];

export function raw(comparisons) {
  const rows = comparisons.flatMap((c) => SIDES.flatMap((side) =>
    c[side].raw.map((m) => [c.name, side, m.measure, m.unit, m.repetition, m.value])));
  if (rows.length === 0) return section("raw", "Raw numbers", el("p", { class: "missing" }, "not measured: no probe ran"));
  const columns = COLUMNS.map((label, i) => ({ label, number: i > 3 }));
  return section("raw", "Raw numbers", copier(csv([COLUMNS, ...rows.map((row) => row.map(String))])),
    el("div", { class: "tall" }, table("Every measurement as it was taken.", columns, rows.map(shown))));
}

// In the table a value has as many digits as a reader can use; as CSV it has all of them.
function shown(row) {
  return row.map((cell) => (typeof cell === "number" ? Number(cell.toPrecision(6)) : cell));
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
      said.replaceChildren("This browser does not let the page copy. The text is selected: copy it with Ctrl-C or ⌘C.", area);
      area.select();
    }
  };
  return el("p", { class: "copier" }, el("button", { type: "button", onclick: copy }, "Copy as CSV"), " ", said);
}
