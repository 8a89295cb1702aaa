/**
 * Times in ISO 8601, as other systems send them: calendar, week and ordinal dates, in the extended or the basic format, with
 * or without a time of day, with fractions of its last part, with or without a zone. `Date.parse` reads only a few of these,
 * and interprets a time without a zone in the local time of the process.
 */

/** Longer than any time with nine digits of a fraction. */
export const LONGEST_ISO_TIME = 64;

const DATE =
  /^(?<year>\d{4})(?:-(?<month>\d\d)(?:-(?<day>\d\d))?|(?<basicMonth>\d\d)(?<basicDay>\d\d)|-?W(?<week>\d\d)(?:-?(?<weekday>[1-7]))?|-?(?<ordinal>\d{3}))$/;
const TIME = /^(?<hour>\d\d)(?::?(?<minute>\d\d)(?::?(?<second>\d\d))?)?(?:[.,](?<fraction>\d+))?$/;
const ZONE = /^(?<sign>[+\-\u2212])(?<hours>\d\d)(?::?(?<minutes>\d\d))?$/;
/** A date, optionally a time of day after T or a space, optionally a zone. */
const PARTS = /^(?<date>[\dW-]+)(?:[T ](?<time>[\d:.,]+)(?<zone>Z|[+\-\u2212][\d:]+)?)?$/;

/** According to the standard, years before the Gregorian calendar require an agreement of sender and receiver. */
const FIRST_YEAR = 1583;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Milliseconds since the epoch; a time without a zone is in UTC. Null if it is not a time in ISO 8601. */
export function readIsoTime(text: string): number | null {
  if (text.length > LONGEST_ISO_TIME) return null;
  const parts = PARTS.exec(text.trim().toUpperCase())?.groups;
  if (parts === undefined) return null;
  const dayMs = readDate(parts.date ?? '');
  const timeMs = parts.time === undefined ? 0 : readTimeOfDay(parts.time);
  const zoneMs = parts.zone === undefined || parts.zone === 'Z' ? 0 : readZone(parts.zone);
  return dayMs === null || timeMs === null || zoneMs === null ? null : dayMs + timeMs - zoneMs;
}

function readDate(text: string): number | null {
  const found = DATE.exec(text)?.groups;
  if (found === undefined) return null;
  const year = Number(found.year);
  if (year < FIRST_YEAR) return null;
  if (found.week !== undefined) return dayOfWeek(year, Number(found.week), Number(found.weekday ?? 1));
  if (found.ordinal !== undefined) return dayOfYear(year, Number(found.ordinal));
  const month = Number(found.month ?? found.basicMonth ?? 1);
  const day = Number(found.day ?? found.basicDay ?? 1);
  const ms = Date.UTC(year, month - 1, day);
  const date = new Date(ms);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? ms : null;
}

function dayOfYear(year: number, ordinal: number): number | null {
  const ms = Date.UTC(year, 0, ordinal);
  return ordinal >= 1 && new Date(ms).getUTCFullYear() === year ? ms : null;
}

/** The first week of a year contains January 4; weeks begin on Mondays. */
function dayOfWeek(year: number, week: number, weekday: number): number | null {
  const mondayOf = (ofYear: number) => {
    const fourth = Date.UTC(ofYear, 0, 4);
    return fourth - ((new Date(fourth).getUTCDay() + 6) % 7) * DAY_MS;
  };
  const ms = mondayOf(year) + ((week - 1) * 7 + weekday - 1) * DAY_MS;
  return week >= 1 && ms < mondayOf(year + 1) ? ms : null;
}

/** 24:00 is the end of the day; a leap second is the first moment of the next minute. A fraction belongs to the last part. */
function readTimeOfDay(text: string): number | null {
  const found = TIME.exec(text)?.groups;
  if (found === undefined) return null;
  const [hour, minute, second] = [found.hour, found.minute ?? 0, found.second ?? 0].map(Number);
  if (hour === undefined || minute === undefined || second === undefined) return null;
  if (hour > 24 || minute > 59 || second > 60) return null;
  const unitMs = found.second !== undefined ? 1_000 : found.minute !== undefined ? MINUTE_MS : HOUR_MS;
  const fractionMs = Math.floor(Number(`0.${found.fraction ?? 0}`) * unitMs);
  const ms = hour * HOUR_MS + minute * MINUTE_MS + second * 1_000 + fractionMs;
  return ms > DAY_MS && hour === 24 ? null : ms;
}

function readZone(text: string): number | null {
  const found = ZONE.exec(text)?.groups;
  const [hours, minutes] = [Number(found?.hours), Number(found?.minutes ?? 0)];
  if (found === undefined || hours > 23 || minutes > 59) return null;
  return (found.sign === '+' ? 1 : -1) * (hours * HOUR_MS + minutes * MINUTE_MS);
}
