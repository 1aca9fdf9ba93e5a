// Scales and ticks of axes that the data describes: linear or logarithmic, in bytes or in any other unit.

import { bytes, number, percent, powersOfTwo, ratio, rate, time } from "./format.js";

const WRITERS = { bytes, B: bytes, "B/s": rate, share: percent, "×": ratio, "µs": time };

// What writes a value in a unit, and the unit where the value does not tell it.
export const writer = (unit) => WRITERS[unit] ?? number;
export const told = (unit) => (unit in WRITERS ? "" : unit);

const isBytes = (unit) => [bytes, rate].includes(WRITERS[unit]);

// An axis over `domain`, `pixels` long. `values` are those that lie on it. A logarithmic axis is a linear one of
// logarithms, because Plot's own leaves out labels that it was told to write.
export function axis({ label, unit, log }, values, domain, pixels) {
  const write = writer(unit);
  const room = Math.max(2, Math.floor(pixels / 75));
  const shared = { label: told(unit) === "" ? label : `${label} (${unit})`, grid: true };
  if (!log) return { ...shared, domain, ticks: isBytes(unit) ? roundBytes(domain, room) : whole(values, domain, room), tickFormat: write };
  const doubling = isBytes(unit) || values.every((value) => Number.isInteger(Math.log2(value)));
  const ends = domain.map(Math.log2);
  const powers = doubling ? powersOfTwo(...ends, pixels) : [];
  const ticks = powers.length > 1 ? powers : decades(domain, room).map(Math.log2);
  return { ...shared, transform: Math.log2, domain: ends, ticks, tickFormat: (power) => write(2 ** power) };
}

// From the least value to the greatest, with room around a value that is alone.
export function span(values, log) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (low < high) return [low, high];
  return log ? [low / 2, high * 2] : [low - 1, high + 1];
}

// From the least value to the greatest with room on both sides, and never so near that a difference of nothing fills the axis.
export function around(values, log) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (log) return [low / (high / low) ** 0.06, high * (high / low) ** 0.06];
  const room = Math.max(0.06 * (high - low), 0.03 * Math.max(Math.abs(low), Math.abs(high)), Number.MIN_VALUE);
  return [low - room, high + room];
}

// Heights begin at 0 so that their ratio is seen. Scores and ratios, which are pure numbers, have an axis that fits them; that of ratios has 1.
export function rise(values, { unit, log }) {
  if (log) return [Math.min(...values) / 1.2, Math.max(...values) * 1.2];
  if (unit === "×") return around([1, ...values], log);
  if (unit === "") return score(around(values, log), values);
  const high = Math.max(...values);
  return [Math.min(0, ...values), high > 0 ? high * 1.05 : 1];
}

// What lies between 0 and 1 has no axis beyond them.
export function score([low, high], values) {
  return values.every((value) => value >= 0 && value <= 1) ? [Math.max(0, low), Math.min(1, high)] : [low, high];
}

// Each whole number where nothing lies between them and there is room, as of repeats; else as many ticks as there is room for.
function whole(values, [low, high], room) {
  if (!values.every(Number.isInteger) || high - low >= 2 * room) return room;
  return Array.from({ length: Math.floor(high) - Math.ceil(low) + 1 }, (_, i) => Math.ceil(low) + i);
}

// Round numbers, as many as there is room for; the ends where no two round numbers lie between them.
function decades([low, high], room) {
  const first = Math.floor(Math.log10(low));
  const powers = Array.from({ length: Math.ceil(Math.log10(high)) - first + 1 }, (_, i) => 10 ** (first + i));
  const within = (ticks) => ticks.filter((tick) => tick >= low && tick <= high);
  const choices = [
    ...[[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 5], [1, 3]].map((steps) =>
      within(powers.flatMap((power) => steps.map((step) => step * power)))),
    ...[1, 2, 3, 4, 6].map((stride) => within(powers).filter((_, i) => i % stride === 0)),
  ];
  return choices.find((ticks) => ticks.length <= room && ticks.length > 1) ?? [low, high];
}

// Multiples of a power of two, as many as there is room for.
export function roundBytes([low, high], room) {
  const step = 2 ** Math.ceil(Math.log2((high - low) / room));
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
}
