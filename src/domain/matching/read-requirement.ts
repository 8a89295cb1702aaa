import { lowestDegreeIn } from './degree-levels.ts';
import type { Requirement, SkillVocabulary } from './facts.ts';
import { isSoft } from './near-skills.ts';
import { languagesIn, levelIn } from './spoken-languages.ts';
import { wordsOf } from './words-of.ts';

const LONGEST = 300;
const MOST_SKILLS = 12;
const MOST_WORDS = 15;
const YEARS = /(\d{1,2})(?:\s*(?:-|–|to)\s*\d{1,2})?\s*\+?\s*(?:or more\s*)?(?:years?|yrs?|jahre|ans|años)/iu;
const MONTHS = /(\d{1,3})\s*\+?\s*(?:months?|monate|mois|meses)/iu;
/** A language of people, not of programs: the text speaks of speaking it, or of nothing else. */
const SPEAKS =
  /\b(?:language|languages|speak\w*|spoken|written|fluen\w*|native|proficien\w*|[abc][12]|level|verbal|bilingual|kenntnisse|sprach\w*)\b/iu;
const CERTIFIED =
  /\b(?:certifi\w+|licen[cs]e[sd]?|registered|registration|chartered|führerschein|permis|accredit\w+)\b/iu;
const OR_EXPERIENCE = /\b(?:or )?(?:equivalent|comparable|similar) (?:\w+ )?(?:experience|qualification)/iu;
/** Where one of several is enough: "Tableau or Power BI", "Jest/Mocha"; but not "A/B testing". */
const ANY = /\b(?:or|oder|ou|any of|one of|such as|e\.g\.|like|similar)\b|\p{L}{2}\/\p{L}{2}/iu;
/** What stands on both sides is asked for: "Python, with Django or FastAPI" is Python, and one of the two. */
const AND = /\b(?:with|and|plus|including|und|mit|et|avec)\b|[;:]/iu;

/**
 * What one line of a posting asks for. A line may ask for several things ("Bachelor's degree and 3 years of Java"): each
 * becomes a requirement with the line's words. What no list of ours knows is kept by its words.
 */
export function readRequirement(line: string, vocabulary: SkillVocabulary): readonly Requirement[] {
  const text = line.trim().replace(/\s+/g, ' ').slice(0, LONGEST);
  if (text === '') return [];
  const found: Requirement[] = [...readSkills(text, vocabulary)];
  found.push(...readDegree(text), ...readExperience(text), ...readLanguages(text), ...readCertificate(text));
  if (found.length > 0) return found;
  const terms = wordsOf([text], MOST_WORDS);
  return terms.length === 0 ? [] : [{ kind: 'words', text, terms }];
}

function readSkills(text: string, vocabulary: SkillVocabulary): readonly Requirement[] {
  const chunks = ANY.test(text) ? text.split(AND) : [text];
  const seen = new Set<string>();
  return chunks.flatMap((chunk): Requirement[] => {
    const skills = vocabulary.findIn(chunk).filter((skill) => !isSoft(skill) && !seen.has(skill));
    for (const skill of skills) seen.add(skill);
    if (skills.length === 0) return [];
    const isAny = skills.length > 1 && ANY.test(chunk);
    return [{ kind: 'skills', text, skills: skills.slice(0, MOST_SKILLS), isAny }];
  });
}

function readDegree(text: string): readonly Requirement[] {
  const level = lowestDegreeIn(text);
  return level === null ? [] : [{ kind: 'degree', text, level, orExperience: OR_EXPERIENCE.test(text) }];
}

function readExperience(text: string): readonly Requirement[] {
  const months = monthsIn(text);
  return months === null ? [] : [{ kind: 'experience', text, months }];
}

export function monthsIn(text: string): number | null {
  const years = YEARS.exec(text)?.[1];
  if (years !== undefined) return Number(years) * 12;
  const months = MONTHS.exec(text)?.[1];
  return months === undefined ? null : Number(months);
}

function readLanguages(text: string): readonly Requirement[] {
  const codes = languagesIn(text);
  const isShort = text.split(' ').length <= 3;
  if (codes.length === 0 || !(isShort || SPEAKS.test(text))) return [];
  const level = levelIn(text);
  return codes.map((code) => ({ kind: 'language', text, code, level }) as const);
}

function readCertificate(text: string): readonly Requirement[] {
  if (!CERTIFIED.test(text) || lowestDegreeIn(text) !== null) return [];
  return [{ kind: 'certificate', text, name: text }];
}
