// Conditions compared with each other directly, each with the one that differs least from it. A matrix tells more of many.

import { el, section } from "./dom.js";
import { charts, figureOf, SIDES } from "./figure.js";
import { forest } from "./forest.js";
import { spoken } from "./headline.js";

export function contrasts({ contrasts: all, matrix }) {
  if (all.length === 0 || matrix !== null) return null;
  const [first] = all;
  const same = all.every(({ aged }) => aged.how === first.aged.how);
  const row = ({ name, against, differing, ...of }) => ({
    name: [el("strong", {}, differing), el("br"), el("small", {}, name), el("small", { class: "aside" }, ` against ${against}`)],
    strips: SIDES.toReversed().map((side) => {
      const { how, ratio, verdict } = of[side];
      return {
        about: `${name} against ${against}, ${side}`, colour: `var(--${side})`, estimate: ratio, points: [],
        told: [el("i", { class: "swatch", style: `--key: var(--${side})` }), ` ${side}: `, spoken(verdict), same ? "" : `, ${how}`],
      };
    }),
  });
  return section("contrasts", "Compared with each other",
    figureOf("contrasts-forest", `Scan cost of one over that of another${same ? `, ${first.aged.how}` : ""}`,
      "Each row names what differs: aged file systems against aged ones, unaged against unaged. Runs with the same seeds are paired. " +
      "Dot and line: geometric mean with its 95 % confidence interval.",
      charts(all, (some) => forest("first over second", some.map(row)))));
}
