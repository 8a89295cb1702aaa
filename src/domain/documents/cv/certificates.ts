import { type Traced, traced } from '../evidence-notes.ts';
import { type DateSpan, isoOf } from '../text/dates.ts';
import type { LaidOutText } from '../text/lay-out.ts';

export interface FoundCertificate {
  readonly name: Traced;
  readonly date: Traced | null;
  readonly issuer: Traced | null;
}

const MOST_CERTIFICATES = 40;

/** Certificates that are named so wherever they stand. */
const NAMED =
  /\b(?:AWS Certified [A-Z][\w -]{3,50}|Microsoft Certified[:]? [A-Z][\w -]{3,50}|Certified [A-Z][a-z]+(?: [A-Z][\w-]*){1,5}|Oracle Certified [A-Z][\w -]{3,40}|Cisco Certified [A-Z][\w -]{3,40}|CCNA|CCNP|CCIE|CISSP|CISA|CISM|CEH|PMP|PRINCE2|CSM|ITIL(?: v?\d)? Foundation|CompTIA [A-Z][\w+]*\+?|MCSE|MCSA|MCP|MCTS|OCA|OCP|OCJP|SCJP|RHCE|RHCSA|ISTQB[\w -]{0,20}|CPA|CFA|ACCA|CKA|CKAD|TOEFL|IELTS|Six Sigma (?:Green|Black|Yellow) Belt)\b/g;

/** The items under a heading for certificates, and well-known ones elsewhere. */
export function findCertificates(laidOut: LaidOutText): FoundCertificate[] {
  const { segments, sections, headings, text, dates } = laidOut;
  const found: FoundCertificate[] = [];
  const keys = new Set<string>();
  const add = (name: Traced, date: DateSpan | null, issuer: Traced | null) => {
    const key = name.value.toLowerCase();
    if (keys.has(key) || found.length >= MOST_CERTIFICATES) return;
    keys.add(key);
    found.push({ name, date: dateOf(date), issuer });
  };
  segments.forEach((segment, at) => {
    if (sections[at] !== 'certificates' || found.length >= MOST_CERTIFICATES) return;
    const from = segment.start + (headings[at]?.length ?? 0);
    if (segment.end - from < 3 || segment.end - from > 140) return;
    const date = dateWithin(dates, from, segment.end);
    const end = date !== null && date.start > from ? date.start : segment.end;
    const start = date !== null && date.start <= from ? date.end : from;
    const [name, issuer] = partsOf(text, start, end);
    if (name !== null) add(name, date, issuer);
  });
  for (const match of text.matchAll(NAMED)) {
    if (found.length >= MOST_CERTIFICATES) break;
    const isInside = found.some(({ name }) => name.start <= match.index && match.index < name.end);
    if (!isInside) add(traced(text, match.index, match.index + match[0].length, 0.75), null, null);
  }
  return found;
}

function dateWithin(dates: readonly DateSpan[], from: number, to: number): DateSpan | null {
  let low = 0;
  let high = dates.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((dates[middle]?.end ?? 0) <= from) low = middle + 1;
    else high = middle;
  }
  const found = dates[low];
  return found !== undefined && found.start < to ? found : null;
}

function dateOf(date: DateSpan | null): Traced | null {
  const point = date === null ? null : date.to !== null && date.to !== 'present' ? date.to : date.from;
  return date === null || point === null
    ? null
    : { value: isoOf(point), start: date.start, end: date.end, confidence: 0.8 };
}

/** "Scrum Master – Scrum Alliance" and "First aid (Red Cross)": the second part gave it. */
function partsOf(text: string, start: number, end: number): [Traced | null, Traced | null] {
  const whole = text.slice(start, end);
  const clean = whole.replace(/[\s,;:(–-]+$/, '');
  const lead = clean.length - clean.replace(/^[\s,;:)–-]+/, '').length;
  const body = clean.slice(lead);
  if (!/\p{L}{2}/u.test(body) || body.split(/\s+/).length > 14) return [null, null];
  const parted =
    /^(.{3,80}?)(?:\s+[–—-]\s+|,\s+(?:issued by\s+)?|\s+by\s+|\s+from\s+|\s*\()([\p{Lu}][^()]{2,60})\)?$/u.exec(
      body,
    );
  const at = start + lead;
  if (parted === null) return [traced(text, at, at + body.length, 0.7), null];
  const [, name = '', issuer = ''] = parted;
  const issuerAt = at + body.lastIndexOf(issuer);
  return [traced(text, at, at + name.length, 0.7), traced(text, issuerAt, issuerAt + issuer.length, 0.5)];
}
