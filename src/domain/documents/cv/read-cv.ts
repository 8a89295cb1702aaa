import { createEvidenceNotes, type EvidenceNotes, type Traced, traced } from '../evidence.ts';
import type { CvEducation, CvProfile, CvWork, Evidence } from '../parsed-document.ts';
import type { NetworkScores, TaggerWeights } from '../tagger/decode.ts';
import { type DateSpan, isoOf } from '../text/dates.ts';
import type { LaidOutText } from '../text/layout.ts';
import { firstOverlap, type TextRange } from '../text/tokens.ts';
import { readBasics } from './basics.ts';
import { type FoundEducation, findEducation, highestLevel } from './education.ts';
import { mentionsIn } from './mentions.ts';
import { withoutReferees } from './referees.ts';
import { findLanguages, findSkills, languageName } from './skills-and-languages.ts';
import { currentPosition, type FoundWork, findWork, type Month, monthsWorked } from './work.ts';

interface ReadProfile {
  readonly profile: CvProfile;
  readonly evidence: Evidence[];
}

/**
 * `isPlain`: a text of a few lines without headings, in which rules do not need the tagger's confirmation. `scores`:
 * the network's scores for its tokens.
 */
export function readProfile(
  laidOut: LaidOutText,
  weights: TaggerWeights,
  today: Month,
  {
    isPlain = false,
    scores = null,
  }: { readonly isPlain?: boolean; readonly scores?: NetworkScores | null } = {},
): ReadProfile {
  const notes = createEvidenceNotes();
  const seen = mentionsIn(laidOut, weights, isPlain, scores);
  const { mentions } = seen;
  const basics = readBasics(withoutReferees(laidOut), mentions, notes);
  const found = findWork(laidOut, seen);
  const work = found.jobs.map((job, at) => workOf(job, `work[${at}]`, notes));
  const studies = findEducation(laidOut, mentions);
  const education = studies.map((found, at) => educationOf(found, `education[${at}]`, notes));
  const languages = findLanguages(laidOut);
  const skills = findSkills(laidOut, seen).filter(({ value }) => languageName(value) === null);
  const now = currentPosition(work.filter((_, at) => found.jobs[at]?.isPaid === true));
  const profile: CvProfile = {
    basics,
    work,
    education,
    skills: skills.map((skill, at) => ({
      name: notes.note(`skills[${at}].name`, skill) ?? skill.value,
      canonical: skill.canonical,
    })),
    languages: languages.map(({ language, fluency }, at) => ({
      language: notes.note(`languages[${at}].language`, language) ?? language.value,
      fluency: notes.note(`languages[${at}].fluency`, fluency),
    })),
    certificates: findCertificates(laidOut).map(({ name, date, issuer }, at) => ({
      name: notes.note(`certificates[${at}].name`, name) ?? name.value,
      date: notes.note(`certificates[${at}].date`, date),
      issuer: notes.note(`certificates[${at}].issuer`, issuer),
    })),
    projects: findProjects(laidOut).map(({ name, description, date, url }, at) => ({
      name: notes.note(`projects[${at}].name`, name) ?? name.value,
      description: notes.note(`projects[${at}].description`, description),
      ...spanOf(date, `projects[${at}]`, notes),
      url: notes.note(`projects[${at}].url`, url),
    })),
    total_months_experience: monthsWorked(found, today),
    current_title: now?.position ?? null,
    current_company: now?.name ?? null,
    highest_degree_level: highestLevel(studies.map(({ level }) => level)),
  };
  return { profile, evidence: notes.all };
}

function workOf(found: FoundWork, path: string, notes: EvidenceNotes): CvWork {
  return {
    name: notes.note(`${path}.name`, found.name),
    position: notes.note(`${path}.position`, found.position),
    location: notes.note(`${path}.location`, found.location),
    ...spanOf(found.entry.date, path, notes),
    summary: notes.note(`${path}.summary`, found.summary),
    highlights: found.highlights.map((one, at) => notes.note(`${path}.highlights[${at}]`, one) ?? one.value),
  };
}

/** A single date is both ends of a job, and the end of a course of study. */
function educationOf(found: FoundEducation, path: string, notes: EvidenceNotes): CvEducation {
  const { date } = found.entry;
  const span = spanOf(date, path, notes);
  return {
    institution: notes.note(`${path}.institution`, found.institution),
    area: notes.note(`${path}.area`, found.area),
    studyType: notes.note(`${path}.studyType`, found.studyType),
    ...(date !== null && !date.isRange ? { startDate: null, endDate: span.endDate } : span),
  };
}

function spanOf(
  date: DateSpan | null,
  path: string,
  notes: EvidenceNotes,
): { startDate: string | null; endDate: string | null } {
  if (date === null || date.from === null) return { startDate: null, endDate: null };
  const { start, end, endStart, from, to } = date;
  const at = (value: string, begin = start): Traced => ({ value, start: begin, end, confidence: 0.9 });
  const startDate = notes.note(`${path}.startDate`, at(isoOf(from)));
  if (to === 'present') return { startDate, endDate: null };
  return { startDate, endDate: notes.note(`${path}.endDate`, at(isoOf(to ?? from), endStart)) };
}

interface FoundCertificate {
  readonly name: Traced;
  readonly date: Traced | null;
  readonly issuer: Traced | null;
}

const MOST_CERTIFICATES = 40;

/** Certificates whose names are recognized anywhere. */
const NAMED_CERTIFICATE =
  /\b(?:AWS Certified [A-Z][\w -]{3,50}|Microsoft Certified[:]? [A-Z][\w -]{3,50}|Certified [A-Z][a-z]+(?: [A-Z][\w-]*){1,5}|Oracle Certified [A-Z][\w -]{3,40}|Cisco Certified [A-Z][\w -]{3,40}|CCNA|CCNP|CCIE|CISSP|CISA|CISM|CEH|PMP|PRINCE2|CSM|ITIL(?: v?\d)? Foundation|CompTIA [A-Z][\w+]*\+?|MCSE|MCSA|MCP|MCTS|OCA|OCP|OCJP|SCJP|RHCE|RHCSA|ISTQB[\w -]{0,20}|CPA|CFA|ACCA|CKA|CKAD|TOEFL|IELTS|Six Sigma (?:Green|Black|Yellow) Belt)\b/g;

/** The items under a heading for certificates, and well-known ones elsewhere. */
function findCertificates(laidOut: LaidOutText): FoundCertificate[] {
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
    const date = firstOverlap(dates, from, segment.end) ?? null;
    const end = date !== null && date.start > from ? date.start : segment.end;
    const start = date !== null && date.start <= from ? date.end : from;
    const [name, issuer] = partsOf(text, start, end);
    if (name !== null) add(name, date, issuer);
  });
  for (const match of text.matchAll(NAMED_CERTIFICATE)) {
    if (found.length >= MOST_CERTIFICATES) break;
    const isInside = found.some(({ name }) => name.start <= match.index && match.index < name.end);
    if (!isInside) add(traced(text, match.index, match.index + match[0].length, 0.75), null, null);
  }
  return found;
}

function dateOf(date: DateSpan | null): Traced | null {
  const point = date === null ? null : date.to !== null && date.to !== 'present' ? date.to : date.from;
  return date === null || point === null
    ? null
    : { value: isoOf(point), start: date.start, end: date.end, confidence: 0.8 };
}

/** "Scrum Master – Scrum Alliance" and "First aid (Red Cross)": the second part is the issuer. */
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

interface FoundProject {
  readonly name: Traced;
  readonly description: Traced | null;
  readonly date: DateSpan | null;
  readonly url: Traced | null;
}

const MOST_PROJECTS = 30;
const LONGEST_PROJECT_NAME = 90;
const LONGEST_PROJECT_DESCRIPTION = 800;

/** Under a heading for projects, a short line starts a project, and longer lines and bullets describe it. */
function findProjects(laidOut: LaidOutText): FoundProject[] {
  const { segments, sections, headings, text, dates, links } = laidOut;
  const found: { name: Traced; from: number; to: number; body: number }[] = [];
  segments.forEach((segment, at) => {
    if (sections[at] !== 'projects' || headings[at] !== null) return;
    const last = found.at(-1);
    const title = titleEnd(segment.text);
    const begins =
      title !== null && !segment.isBulleted && (last === undefined || segment.beginsBlock || last.body > 0);
    if (begins && found.length < MOST_PROJECTS) {
      const end = segment.start + title;
      const rest = segment.end - end;
      found.push({
        name: traced(text, segment.start, end, 0.6),
        from: end,
        to: segment.end,
        body: rest > 20 ? 1 : 0,
      });
    } else if (last !== undefined) {
      last.to = Math.min(segment.end, last.from + LONGEST_PROJECT_DESCRIPTION);
      last.body++;
    }
  });
  return found.map(({ name, from, to }) => {
    const inside = (one: TextRange) => one.start >= name.start && one.end <= to;
    const link = links.find(inside);
    const start = from + (/^[\s:–—-]*/.exec(text.slice(from, to))?.[0].length ?? 0);
    return {
      name,
      description: to - start > 12 ? traced(text, start, to, 0.5) : null,
      date: dates.find(inside) ?? null,
      url:
        link === undefined
          ? null
          : { value: link.value.url, start: link.start, end: link.end, confidence: 0.9 },
    };
  });
}

/** The length of a line's title: the whole of a short line, or up to its colon or dash. */
function titleEnd(line: string): number | null {
  if (!/^[\p{Lu}\d"'“]/u.test(line)) return null;
  const parted = /^(.{3,70}?)\s*(?::|\s[–—-]\s|\(|,\s(?=(?:19|20)\d\d))/.exec(line)?.[1];
  if (parted !== undefined) return parted.length;
  return line.length <= LONGEST_PROJECT_NAME && !/[.;]$/.test(line) ? line.length : null;
}
