// Sizes, times and counts in words, as service/dashboard/quantities.py has them.

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

export function size(count) {
  if (count === null) return "–";
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.95 ? value.toFixed(0) : Number(value.toPrecision(3))} ${UNITS[unit]}`;
}

export function duration(seconds) {
  if (seconds === null) return "–";
  if (seconds < 0.001) return "under 1 ms";
  if (seconds < 10) return `${Number(seconds.toPrecision(2))} s`;
  const whole = Math.round(seconds);
  const padded = (count) => String(count).padStart(2, "0");
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${padded(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${padded(Math.floor((whole % 3600) / 60))} min`;
}

export function grouped(count) {
  return count === null ? "–" : String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}
