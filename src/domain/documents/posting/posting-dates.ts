import type { Traced } from '../evidence-notes.ts';
import { type DateSpan, isoOf } from '../text/dates.ts';
import type { LaidOutText } from '../text/lay-out.ts';

const POSTED =
  /(?:date )?posted(?: on)?|publish(?:ed)?(?: on)?|publication date|veröffentlicht(?: am)?|publiée? le|publicad[oa](?: el)?|pubblicat[oa](?: il)?|geplaatst(?: op)?/i;
const UNTIL =
  /(?:application )?deadline|apply (?:by|before|until)|closing date|clos(?:es|ing)(?: on)?|valid (?:through|until)|expires?(?: on)?|applications? (?:close|until|by)|bewerbungsfrist|bewerben sie sich bis|bis zum|date limite|avant le|fecha límite|hasta el|scadenza|entro il|prazo|até|sluitingsdatum|reageren (?:voor|tot)/i;
const REACH = 40;

export function findPostingDates(laidOut: LaidOutText): { posted: Traced | null; until: Traced | null } {
  return { posted: dateAfter(laidOut, POSTED), until: dateAfter(laidOut, UNTIL) };
}

function dateAfter({ dates, text }: LaidOutText, label: RegExp): Traced | null {
  for (const date of dates) {
    const before = text.slice(Math.max(0, date.start - REACH), date.start);
    const line = before.slice(before.lastIndexOf('\n') + 1);
    const match = label.exec(line);
    if (match === null || date.from === null) continue;
    const value = dayOf(text, date) ?? isoOf(date.from);
    return { value, start: date.start, end: date.end, confidence: 0.85 };
  }
  return null;
}

/** The day, where the date names one beside its month. */
function dayOf(text: string, { start, end, from }: DateSpan): string | null {
  if (from === null || from.month === null) return null;
  const raw = text.slice(start, end);
  const iso = /^\d{4}[-/.]\d{1,2}[-/.](\d{1,2})/.exec(raw)?.[1];
  const numeric = /^(\d{1,2})[./-](\d{1,2})[./-]\d{2,4}/.exec(raw);
  const word = /(?:^|\D)(\d{1,2})(?:st|nd|rd|th|\.)?(?:\s|,|$)/.exec(raw.replace(/(?:19|20)\d\d/, ''))?.[1];
  const other = numeric === null ? undefined : Number(numeric[2]) === from.month ? numeric[1] : numeric[2];
  const day = Number(iso ?? other ?? word ?? 0);
  return day >= 1 && day <= 31 ? `${isoOf(from)}-${String(day).padStart(2, '0')}` : null;
}
