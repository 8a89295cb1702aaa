const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const;

/** How long something lasts, in its two largest units: 42 s, 3 min 5 s, 2 d 4 h. */
export function lasting(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  for (const [at, [unit, length]] of UNITS.entries()) {
    if (whole < length) continue;
    const [lesser, lesserLength] = UNITS[at + 1] ?? ['s', 1];
    const rest = Math.floor((whole % length) / lesserLength);
    return `${Math.floor(whole / length)} ${unit}${rest === 0 ? '' : ` ${rest} ${lesser}`}`;
  }
  return `${whole} s`;
}

/** Seconds from now: below zero for what is past. */
export function secondsUntil(moment: string): number {
  return (Date.parse(moment) - Date.now()) / 1_000;
}

const msForm = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

/** Milliseconds as people read them: 850 ms, 2.4 s. */
export function took(ms: number): string {
  return ms < 1_000 ? `${msForm.format(ms)} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}
