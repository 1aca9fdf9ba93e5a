// The block picture: where the files' blocks lie (after figure 3 of Conway et al., FAST 2017).

import * as Plot from "@observablehq/plot";
import { section } from "./dom.js";
import { figure, plot, positionLegend, SIDES } from "./figure.js";
import { bytes, count } from "./format.js";

const ROWS = 240; // more could not be told apart on a screen
const SHADES = 10;
const SVG = "http://www.w3.org/2000/svg";

export function blocks(comparisons) {
  return section("blocks", "Where the blocks lie",
    comparisons.map((c, i) => figure(`blocks-${i}`, c.name,
      "One row a file, in the order of the scan from top to bottom; across, the address on disk; colour, the position within " +
      "the file. A file laid out well is one short run; rows that follow one another to the right make a scan sequential. " +
      `Scattered marks are seeks. ${sampled(c)}`,
      SIDES.map((side) => picture(c, side)), positionLegend(), 340)));
}

function sampled({ aged: { block_map: all } }) {
  return all.length > ROWS ? `Shown: every ${count(stride(all))}. of ${count(all.length)} files.` : "";
}

function stride(files) {
  return Math.ceil(files.length / ROWS);
}

function picture(c, side) {
  const all = c[side].block_map;
  const files = all.filter((_, i) => i % stride(all) === 0);
  const frame = [{ x1: 0, x2: c.size_bytes, y1: 0, y2: files.length }];
  return {
    title: side,
    missing: all.length === 0 ? "the extents of the files were not recorded" : null,
    draw: (width) => plot(width, {
      height: 52 + Math.max(90, Math.min(3 * files.length, 420)), marginLeft: 6, marginRight: 10, marginTop: 6,
      x: { label: "address on disk", ticks: quarters(c.size_bytes), tickFormat: bytes, domain: [0, c.size_bytes] },
      y: { axis: null, reverse: true, domain: [0, files.length] },
      marks: [
        Plot.rect(frame, { x1: "x1", x2: "x2", y1: "y1", y2: "y2", fill: "var(--panel-fill)" }),
        (_, { x, y }) => marks(files, x, y),
      ],
    }),
  };
}

function quarters(size) {
  return [0, 0.25, 0.5, 0.75, 1].map((share) => share * size);
}

// One path a shade instead of one element an extent keeps the page light however many extents there are.
function marks(files, x, y) {
  const paths = Array.from({ length: SHADES }, () => []);
  const drawn = new Set();
  files.forEach((file, row) => {
    const [top, height] = [y(row), Math.max(1, y(row + 1) - y(row) - 0.5)];
    for (const [address, length, shade] of pieces(file)) {
      const [from, to] = [x(address), x(address + length)];
      const cell = `${row} ${shade} ${Math.round(from)}`;
      if (to - from < 1 && drawn.has(cell)) continue;
      drawn.add(cell);
      paths[shade].push(`M${from.toFixed(1)},${top.toFixed(1)}h${Math.max(1.2, to - from).toFixed(1)}v${height.toFixed(1)}H${from.toFixed(1)}z`);
    }
  });
  const group = document.createElementNS(SVG, "g");
  paths.forEach((path, shade) => {
    const node = document.createElementNS(SVG, "path");
    node.setAttribute("d", path.join(""));
    node.style.fill = `color-mix(in oklab, var(--last) ${(100 * shade) / (SHADES - 1)}%, var(--first))`;
    group.append(node);
  });
  return group;
}

// The extents of a file, cut where the shade changes.
function* pieces({ size_bytes: size, extents }) {
  const shadeOf = (offset) => Math.min(SHADES - 1, Math.floor((SHADES * offset) / Math.max(1, size)));
  for (const [offset, address, length] of extents) {
    for (let done = 0; done < length; ) {
      const shade = shadeOf(offset + done);
      const next = shade === SHADES - 1 ? length : Math.ceil(((shade + 1) * size) / SHADES) - offset;
      const end = Math.max(done + 1, Math.min(length, next));
      yield [address + done, end - done, shade];
      done = end;
    }
  }
}
