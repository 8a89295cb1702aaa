import type { Evidence } from '../document-facts.ts';
import { createEvidenceNotes, type EvidenceNotes, type Traced } from '../evidence-notes.ts';
import type { CvEducation, CvProfile, CvWork } from '../parsed-cv.ts';
import type { TaggerWeights } from '../tagger/decode.ts';
import { type DateSpan, isoOf } from '../text/dates.ts';
import type { LaidOutText } from '../text/lay-out.ts';
import { readBasics } from './basics.ts';
import { findCertificates } from './certificates.ts';
import { currentPosition } from './current-position.ts';
import { type FoundEducation, findEducation, highestLevel } from './education.ts';
import { type Month, monthsOfExperience } from './experience-months.ts';
import { findLanguages, languageName } from './languages.ts';
import { mentionsIn } from './mentions.ts';
import { findProjects } from './projects.ts';
import { findSkills } from './skills.ts';
import { type FoundWork, findWork } from './work.ts';

export interface ReadProfile {
  readonly profile: CvProfile;
  readonly evidence: Evidence[];
}

export function readProfile(laidOut: LaidOutText, weights: TaggerWeights, today: Month): ReadProfile {
  const notes = createEvidenceNotes();
  const seen = mentionsIn(laidOut, weights);
  const { mentions } = seen;
  const basics = readBasics(laidOut, mentions, notes);
  const work = findWork(laidOut, seen).map((found, at) => workOf(found, `work[${at}]`, notes));
  const studies = findEducation(laidOut, mentions);
  const education = studies.map((found, at) => educationOf(found, `education[${at}]`, notes));
  const languages = findLanguages(laidOut);
  const skills = findSkills(laidOut, seen).filter(({ value }) => languageName(value) === null);
  const now = currentPosition(work);
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
    total_months_experience: monthsOfExperience(work, today),
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

/** A lone date is both ends of a job, and the end of a course of study. */
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
  const { start, end, from, to } = date;
  const at = (value: string): Traced => ({ value, start, end, confidence: 0.9 });
  const startDate = notes.note(`${path}.startDate`, at(isoOf(from)));
  if (to === 'present') return { startDate, endDate: null };
  return { startDate, endDate: notes.note(`${path}.endDate`, at(isoOf(to ?? from))) };
}
