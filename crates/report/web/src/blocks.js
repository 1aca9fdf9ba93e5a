// The block picture: where the files' blocks lie (after figure 3 of Conway et al., FAST 2017).

import * as Plot from "@observablehq/plot";
import { roundBytes } from "./axis.js";
import { anchor } from "./claims.js";
import { el, section } from "./dom.js";
import { figure, plot, positionLegend, SIDES } from "./figure.js";
import { bytes, count } from "./format.js";
import { ofFirst } from "./spread.js";

const ROWS = 240; // more could not be told apart on a screen
const SHADES = 11;
const CELL = 2; // pixels: the least mark that is still seen
const SVG = "http://www.w3.org/2000/svg";

const READING = "One row per file, in scan order from top to bottom; x: address on disk; colour: " +
  "position within the file (the mean, where a mark covers many blocks). A contiguous file is one short run; " +
  "consecutive rows that continue to the right make a scan sequential. Scattered marks are seeks.";

export function blocks({ comparisons }) {
  const drawn = comparisons.filter((c) => SIDES.some((side) => hasExtents(c[side].block_map)));
  if (drawn.length === 0) return null;
  return section("blocks", "Block positions", el("p", { class: "aside" }, READING, " ", ofFirst(drawn)), positionLegend(),
    drawn.map((c, i) => figure(`blocks-${i}`, c.name, sampled(c.aged.block_map, c.aged.mapped_files),
      SIDES.map((side) => picture(side, c[side].block_map, c.size_bytes)), null, 340)));
}

function hasExtents(files) {
  return files.some((file) => file.extents.length > 0);
}

// The pictures of an experiment: a figure for each file system, with a panel for each round.
export function pictures(e) {
  const all = e.pictures;
  if (all.length === 0) return null;
  const kinds = [...new Set(all.map(({ fs }) => fs))];
  const figures = kinds.map((kind, i) => rounds(`${anchor(e)}-blocks-${i}`, kind, all.filter(({ fs }) => fs === kind)));
  return [el("p", { class: "aside" }, READING), positionLegend(), figures];
}

// A round may put its files anywhere on the disk, so each panel begins at its own first block; all are as wide as the
// round that spreads its files most.
function rounds(id, fs, all) {
  const ends = all.map(({ rows }) => addresses(rows));
  const size = Math.max(...ends.map(([first, end]) => end - first));
  const panels = all.map(({ title, round, rows }, i) =>
    picture([title, `round ${count(round)}`].filter(Boolean).join(", "), moved(rows, ends[i][0]), size));
  const caption = `Addresses start at the first block of each panel. ${sampled(all[0].rows, all[0].files)}`;
  return figure(id, fs, caption, panels, null, 260);
}

// The files with addresses counted from `first`.
function moved(files, first) {
  const counted = ([offset, address, length]) => [offset, address - first, length];
  return files.map((file) => ({ ...file, extents: file.extents.map(counted) }));
}

// The first address of the files and the one behind their last.
function addresses(files) {
  return files.flatMap((file) => file.extents).reduce(([first, end], [, address, length]) =>
    [Math.min(first, address), Math.max(end, address + length)], [Infinity, 0]);
}

// How many files are drawn, of how many that there are; `all` is null if that is not known.
function sampled(files, all) {
  const drawn = Math.ceil(files.length / stride(files));
  const of = Math.max(all ?? 0, files.length);
  if (drawn < of) return `Shown: ${count(drawn)} of ${count(of)} files, evenly spaced in scan order.`;
  return all === null || all === undefined ? `Shown: ${count(of)} files.` : `Shown: all ${count(of)} files.`;
}

function stride(files) {
  return Math.ceil(files.length / ROWS);
}

function picture(title, all, size) {
  const files = all.filter((_, i) => i % stride(all) === 0);
  const frame = [{ x1: 0, x2: size, y1: 0, y2: files.length }];
  return {
    title,
    missing: !hasExtents(all) ? "the extents of the files were not recorded" : null,
    draw: (width) => plot(width, {
      ariaLabel: `${title}: positions of ${count(files.length)} files on disk`,
      height: 60 + Math.max(90, Math.min(3 * files.length, 260)), marginLeft: 6, marginRight: 10, marginTop: 6,
      x: { label: "address on disk", ticks: roundBytes([0, size], width / 75), tickFormat: bytes, domain: [0, size] },
      y: { axis: null, reverse: true, domain: [0, files.length] },
      marks: [
        Plot.rect(frame, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "var(--panel-fill)" }),
        (_, { x, y }) => marks(files, x, y, size),
      ],
    }),
  };
}

// One path a shade instead of one element an extent keeps the page light however many extents there are.
function marks(files, x, y, size) {
  const paths = Array.from({ length: SHADES }, () => []);
  const scale = (x(size) - x(0)) / size / CELL;
  files.forEach((file, row) => {
    const [top, height] = [y(row), Math.max(1, y(row + 1) - y(row) - 0.5)];
    for (const [column, { position, weight }] of columns(file, scale)) {
      const shade = Math.min(SHADES - 1, Math.floor((SHADES * position) / weight / Math.max(1, file.size_bytes)));
      paths[shade].push(`M${x(0) + CELL * column},${top.toFixed(1)}h${CELL}v${height.toFixed(1)}h-${CELL}z`);
    }
  });
  const group = document.createElementNS(SVG, "g");
  paths.forEach((path, shade) => {
    const node = document.createElementNS(SVG, "path");
    node.setAttribute("d", path.join(""));
    node.style.fill = colour((2 * shade) / (SHADES - 1));
    group.append(node);
  });
  return group;
}

// From --first at 0 over --middle at 1 to --last at 2.
function colour(at) {
  const [from, to] = at < 1 ? ["first", "middle"] : ["middle", "last"];
  return `color-mix(in oklab, var(--${to}) ${100 * (at < 1 ? at : at - 1)}%, var(--${from}))`;
}

// The columns of the picture that a file touches, each with the positions in the file that it shows, weighted by
// length: a column that holds a whole small file is then drawn as its middle.
function columns({ extents }, scale) {
  const touched = new Map();
  for (const [offset, address, length] of extents) {
    const end = address + length;
    for (let column = Math.floor(address * scale); column / scale < end; column += 1) {
      const [from, to] = [Math.max(address, column / scale), Math.min(end, (column + 1) / scale)];
      const sum = touched.get(column) ?? { position: 0, weight: 0 };
      sum.position += (offset + (from + to) / 2 - address) * (to - from);
      sum.weight += to - from;
      touched.set(column, sum);
    }
  }
  return touched;
}
