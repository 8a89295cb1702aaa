import { isHeld } from '../facts/licences.ts';
import { isQualification } from '../facts/words.ts';
import { certificateLevel, type SpeechItem, type TalentFeatures } from './features.ts';

/** How far a talent has a language or certificate that a job asks for, 0 to 1. */
export function speechCredit(item: SpeechItem, talent: TalentFeatures): number {
  const { requirement } = item;
  if (requirement.kind === 'certificate') {
    return item.licence === null
      ? certificateCredit(item, talent)
      : licenceCredit(item.licence, requirement.text, talent);
  }
  const level = talent.languages.get(requirement.code);
  if (level === undefined) return talent.facts.writtenIn === requirement.code ? 0.8 : 0;
  if (level === 0 || requirement.level === null) return level === 0 && (requirement.level ?? 0) > 4 ? 0.8 : 1;
  return Math.max(0, 1 - 0.3 * Math.max(0, Math.min(requirement.level, 6) - level));
}

/** A certificate that is named outside the CV's list of certificates counts less, because it is less certain. */
const NAMED_CERTIFICATE = 0.75;

function certificateCredit({ words, level, isOccupation }: SpeechItem, talent: TalentFeatures): number {
  if (words.length === 0) return talent.certificateWords.size > 0 ? 1 : 0;
  const held = wordsCredit(words, talent.certificateWords);
  const credit = wordsCredit(words, talent.wordSet);
  const isNamed = words.some((word) => isQualification(word) && talent.wordSet.has(word));
  if (held < 0.5)
    return isNamed || (credit === 1 && !isOccupation && level === null)
      ? NAMED_CERTIFICATE
      : Math.min(0.5, credit);
  const levels = talent.facts.certificates.flatMap((name) => certificateLevel(name) ?? []);
  // A different level counts less only if it is lower than the requested one.
  const isLower = level !== null && levels.length > 0 && Math.max(...levels) < level;
  return isLower ? 0.5 : Math.min(1, held + 0.25);
}

function licenceCredit(required: readonly string[], text: string, { facts }: TalentFeatures): number {
  const held = facts.licence ?? null;
  if (held === null) return 0;
  // A CV that names a licence without a class usually means a car licence.
  const classes = held.length === 0 ? ['B'] : held;
  if (required.length === 0) return 1;
  const isAny = /(?<!\p{L})(?:or|oder|ou)(?!\p{L})/iu.test(text);
  const isEnough = (one: string) => isHeld(one, classes);
  return (isAny ? required.some(isEnough) : required.every(isEnough)) ? 1 : 0;
}

export function wordsCredit(words: readonly string[], known: ReadonlySet<string>): number {
  let count = 0;
  for (const word of words) if (known.has(word)) count += 1;
  return words.length === 0 ? 0 : count / words.length;
}
