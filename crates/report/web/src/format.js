// Numbers as a reader wants them. A number that was not taken is null and reads "–".

export const NONE = "–";
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

// What writes numbers takes longer to make than to use.
const DECIMALS = [0, 1, 2].map((places) => new Intl.NumberFormat("en", { maximumFractionDigits: places }));
const DIGITS = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

function decimals(value, places) {
  return DECIMALS[places].format(value);
}

// Three digits that count, never a power of ten in sight.
export function number(value) {
  if (value === null || value === undefined) return NONE;
  if (value === 0 || Math.abs(value) >= 100) return decimals(value, 0);
  return DIGITS.format(value);
}

export function count(value) {
  return value === null ? NONE : decimals(value, 0);
}

export function bytes(value) {
  if (value === null) return NONE;
  let unit = 0;
  while (value >= 1024 && unit + 1 < UNITS.length) {
    value /= 1024;
    unit += 1;
  }
  return `${value < 1000 ? number(value) : decimals(value, 0)} ${UNITS[unit]}`;
}

export function rate(perSecond) {
  return perSecond === null ? NONE : `${bytes(perSecond)}/s`;
}

// Of microseconds.
export function time(us) {
  const [size, unit] = us < 1e3 ? [1, "µs"] : us < 1e6 ? [1e3, "ms"] : [1e6, "s"];
  return `${number(us / size)} ${unit}`;
}

export function percent(share) {
  return share === null ? NONE : `${decimals(100 * share, share < 0.1 ? 1 : 0)} %`;
}

// A layout score: three places, for what matters is how far from 1 it is.
export function score(value) {
  return value === null ? NONE : value.toFixed(3);
}

// A value of a measure, in its unit.
export function format({ unit, better }, value) {
  if (unit === "B") return bytes(value);
  if (unit === "s") return value === null ? NONE : time(1e6 * value);
  if (unit !== "share" || better === "lower") return number(value);
  return better === "higher" ? score(value) : percent(value);
}

// "1.05×", "1.9×", "12×": as many places as the size of the ratio calls for.
export function ratio(value) {
  return `${decimals(value, value < 2 ? 2 : value < 10 ? 1 : 0)}×`;
}

export function hasEnds(interval) {
  return interval.low !== null && interval.high !== null;
}

// An interval with its ends, each written by `write`.
export function spread(interval, write) {
  if (interval === null) return NONE;
  const mean = write(interval.mean);
  return hasEnds(interval) ? `${mean} (${write(interval.low)} – ${write(interval.high)})` : mean;
}

// Ticks at powers of two from 2^low to 2^high, far enough apart for their labels.
export function powersOfTwo(low, high, width) {
  const room = Math.max(2, Math.floor(width / 70));
  const step = [1, 2, 3, 5, 10, 20].find((s) => (high - low) / s <= room) ?? 20;
  const first = Math.ceil(low / step) * step;
  return Array.from({ length: Math.max(0, Math.floor((high - first) / step) + 1) }, (_, i) => first + i * step);
}
