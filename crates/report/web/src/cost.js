// What a scan costs, aged and unaged; modelled and measured never share a figure.

import * as Plot from "@observablehq/plot";
import { section } from "./dom.js";
import { charts, facetNames, figure, plot, sidesLegend, SIDES, WHOLE_WIDTH } from "./figure.js";
import { hasEnds, number } from "./format.js";

const HOW = "Shorter is better. Bar: median; line: 95 % confidence interval, drawn if there are enough repetitions. " +
  "Scan: every file of the tree read once from a cold cache, in directory order; the GiB are allocated bytes.";

export function cost(comparisons) {
  return section("cost", "Cost of a full scan",
    figure("cost-modelled", "Modelled 7200 rpm disk",
      `Seconds per GiB on the modelled disk: its service times summed over the requests of the scan. ${HOW}`,
      bars(comparisons, "modelled_hdd_s_per_gib", "no scan ran on a modelled disk"), sidesLegend(), WHOLE_WIDTH),
    figure("cost-measured", "Measured on this machine",
      `Seconds per GiB of wall-clock time, with this machine's own disk and processor. ${HOW}`,
      bars(comparisons, "scan_s_per_gib", "no scan was timed on this machine"), sidesLegend(), WHOLE_WIDTH));
}

// Charts share the axis across.
function bars(comparisons, key, reason) {
  const costs = comparisons.flatMap((c) => SIDES.map((side) => c[side][key])).filter(Boolean);
  const most = costs.reduce((most, { median, high }) => Math.max(most, median, high ?? 0), 0);
  return charts(comparisons, (some) => chart(some, key, reason, most));
}

function chart(comparisons, key, reason, most) {
  const rows = comparisons.flatMap((c) => SIDES.filter((side) => c[side][key] !== null)
    .map((side) => ({ name: c.name, side, ...c[side][key] })));
  const names = comparisons.map((c) => c.name);
  const gaps = names.filter((name) => !rows.some((row) => row.name === name));
  const place = { y: "side", fy: "name" };
  return {
    missing: rows.length === 0 ? reason : null,
    draw: (width) => plot(width, {
      height: 72 + 70 * names.length, marginLeft: 2, marginRight: 60, marginTop: 24,
      x: { label: "seconds per GiB", domain: [0, most], grid: true, ticks: width / 90 },
      y: { domain: SIDES, axis: null, padding: 0.15 }, fy: { domain: names, axis: null, padding: 0.4 },
      marks: [
        Plot.barX(rows, { x: "median", fill: "side", ...place }),
        Plot.ruleY(rows.filter(hasEnds), { x1: "low", x2: "high", strokeWidth: 2, marker: "tick", ...place }),
        Plot.text(rows, { x: (r) => r.high ?? r.median, text: (r) => `${number(r.median)} s`, textAnchor: "start", dx: 8, ...place }),
        Plot.text(gaps, { fy: (name) => name, text: () => `not measured: ${reason}`, frameAnchor: "left", fontStyle: "italic" }),
        facetNames(names),
      ],
    }),
  };
}
