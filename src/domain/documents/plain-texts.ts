import type { CvProfile, Posting } from './parsed-document.ts';
import { findExperience } from './posting/employment-terms.ts';
import { isTitleLabel, namesHead } from './posting/title.ts';
import { type KindGuess, looksLikeName, namesPosition } from './text/classify.ts';
import { POSTING_SIGNS, pointsOf, SAYS_WORK, SPOKEN_TO, TERMS_OF_WORK } from './text/kind-signs.ts';
import type { LaidOutText } from './text/layout.ts';
import { firstNames } from './words/word-lists.ts';

/**
 * Short and plain texts. A request to read a text as a CV implies that it is one, so three lines without a heading are
 * read, although they have too few signs to be recognized as a CV. A text is refused if it is clearly something else:
 * the other kind, another form (an invoice, a recipe, a letter, a story), or a text in which nothing was found that
 * belongs to a CV or posting.
 */
type PlainJudgement =
  | { readonly outcome: 'taken'; readonly confidence: number; readonly warning: string }
  | { readonly outcome: 'refused' };

const WARNINGS = {
  cv: 'the text has few signs of a CV; what it says was read: compare the profile with the text',
  job_posting:
    'the text has few signs of a posting; what it says was read: compare the posting with the text',
} as const;

const REFUSED: PlainJudgement = { outcome: 'refused' };

/** Below the confidence of a text recognized by its signs, which starts at 0.5. */
const LEAST_CONFIDENCE = 0.25;
const FOR_EACH_FACT = 0.05;
const MOST_CONFIDENCE = 0.49;

/** Whether to try reading the text: false if it is known to be something else. */
export function mayBePlain(text: string, guess: KindGuess): boolean {
  if (guess.kind !== 'other' || guess.hasAnotherForm || text.length > MOST_PLAIN_CHARACTERS) return false;
  return !OTHER_FORMS.some((form) => form.test(text)) && !OF_OTHERS.test(text);
}

/**
 * A plain text states its facts in sentences, and in clauses after a name, where other texts have lines. The blanks
 * after them become line feeds: no character is added or removed, so all offsets stay valid.
 */
export function inPlainLines(text: string): string {
  const lines = text.replace(SENTENCE_END, '\n');
  const opening = NAME_CLAUSE.exec(lines);
  if (opening === null || !looksLikeName(opening[1] ?? '')) return lines;
  const end = opening[0].length;
  return `${lines.slice(0, end - 1)}\n${lines.slice(end)}`;
}

/** Requires a person or first-person wording, and something about work, education or skills. */
export function judgePlainCv(laidOut: LaidOutText, profile: CvProfile): PlainJudgement {
  const { text } = laidOut;
  const { basics, work, education, skills } = profile;
  const isPerson = basics.name !== null && isName(basics.name);
  const isReached = basics.email !== null || basics.phone !== null;
  const isOwnWords = OWN_WORDS.test(text);
  const beginsWithPosition = [openingOf(laidOut), laidOut.segments[0]?.text ?? ''].some(namesPosition);
  const hasJobLine = laidOut.segments.some((segment) => namesPosition(segment.text));
  const hasSection = laidOut.headings.some((heading) => heading !== null && heading.kind !== 'contact');
  const jobs = work.filter(({ position, name }) => position !== null || name !== null);
  const hasFullJob = jobs.some(
    ({ position, name, startDate, endDate }) => position !== null && (name !== null || startDate !== endDate),
  );
  const hasStudy = education.some(({ institution, studyType }) => institution !== null || studyType !== null);
  const hasYears = findExperience(text) !== null || YEARS.test(text);
  const ofPerson = [isPerson, isReached, isOwnWords, hasSection];
  const ofWork = [jobs.length > 0, basics.label !== null, hasStudy, skills.length > 1, hasYears];
  const isOffer =
    pointsOf(text, SPOKEN_TO) > 0 || WANTED.test(text) || (pointsOf(text, POSTING_SIGNS) > 2 && !isReached);
  if (isOffer || !ofWork.includes(true)) return REFUSED;
  const isByItself = (hasJobLine && hasFullJob) || (beginsWithPosition && ofWork.includes(true));
  // An address alone may be that of a press office; it counts together with a job, a list of skills or a position on
  // top.
  const isAbout = isPerson || isOwnWords || hasSection;
  const isOnTop = [...laidOut.emails, ...laidOut.phones].some(({ start }) => start < ON_TOP);
  const isReachable =
    isReached && (beginsWithPosition || skills.length > 1 || (isOnTop && basics.label !== null));
  if (!isAbout && !isReachable && !isByItself) return REFUSED;
  return taken('cv', [...ofPerson, ...ofWork, hasFullJob, laidOut.dates.length > 0]);
}

/** Requires a position and a sign that a person is sought: a word for it, requirements, terms, pay or place. */
export function judgePlainPosting(laidOut: LaidOutText, posting: Posting): PlainJudgement {
  const { text } = laidOut;
  const isWanted = WANTED.test(text) || pointsOf(text, POSTING_SIGNS.slice(0, 2)) > 0 || GENDERS.test(text);
  const asks =
    posting.must_have.length > 0 ||
    posting.nice_to_have.length > 0 ||
    posting.experienceRequirements !== null ||
    posting.educationRequirements.length > 0;
  const hasTerms =
    posting.employmentType !== null ||
    posting.jobLocationType !== null ||
    posting.baseSalary !== null ||
    pointsOf(text, [TERMS_OF_WORK]) > 0;
  const facts = [isWanted, asks, hasTerms, posting.skills.length > 0, posting.jobLocation.length > 0];
  const isPersons =
    laidOut.emails.length + laidOut.phones.length === 0
      ? looksLikeName(openingOf(laidOut)) && !isWanted && !isTitleLabel(openingOf(laidOut))
      : laidOut.dates.some(({ isRange }) => isRange);
  if (posting.title === null || isPersons || OWN_WORDS.test(text)) return REFUSED;
  const isNamed = [posting.title, openingOf(laidOut)].some(
    (line) => (namesPosition(line) || namesHead(line)) && !ARTICLE.test(line),
  );
  const isTitleAlone =
    isNamed && laidOut.segments.length === 1 && posting.title.length >= text.trim().length - 1;
  const isEnough = isNamed
    ? isTitleAlone || facts.includes(true)
    : isWanted && (hasTerms || SAYS_WORK.test(text) || DRIVES.test(text));
  return isEnough ? taken('job_posting', [isNamed, ...facts]) : REFUSED;
}

function taken(kind: keyof typeof WARNINGS, facts: readonly boolean[]): PlainJudgement {
  const points = LEAST_CONFIDENCE + FOR_EACH_FACT * facts.filter(Boolean).length;
  const confidence = Math.round(Math.min(MOST_CONFIDENCE, points) * 100) / 100;
  return { outcome: 'taken', confidence, warning: WARNINGS[kind] };
}

/** Three pages. A longer text without signs of a CV or posting is neither. */
const MOST_PLAIN_CHARACTERS = 10_000;
/** The characters at the start in which contact details count as on top. */
const ON_TOP = 20;
const SENTENCE_END =
  /(?<=(?:[\p{Ll}\d)]{2}|\p{Lu}{2}|[+#])[.!?;])(?<!(?<!\p{L})(?:min|max|approx|ca|incl|inkl|nr|no|tel)\.) (?=[\p{Lu}\d£$€])/gu;
/** "Tom Reed, plumber, Leeds". */
const NAME_CLAUSE = /^\s*([^\n,]{4,50}), /;

/** The first clause, which usually contains a name or a position. */
function openingOf({ segments }: LaidOutText): string {
  return segments[0]?.text.split(/[.,;:!(]|\s[–—-]\s/)[0]?.trim() ?? '';
}

/** Capitalized, or in lower case with a known first name. */
function isName(name: string): boolean {
  const [first = ''] = name.split(' ');
  return looksLikeName(name) || (name === name.toLowerCase() && firstNames.has(first));
}

/** Phrases that people use about themselves, in seven languages. */
const OWN_WORDS =
  /(?<!\p{L})(?:I (?:am|was|have|had|work(?:ed)?|studied|speak|know|can|did|led|built)|I['’](?:m|ve)|my (?:name|experience|skills|last job)|(?<=^|[.\n]\s?)(?:Worked|Working|Employed|Experienced|Skilled|Trained|Qualified)|ich (?:bin|war|habe|arbeite)|je (?:suis|travaille)|j['’]ai|(?:yo )?(?:soy|tengo|trabajo|trabajé)|(?:io )?(?:sono un|ho lavorato|lavoro)|(?:eu )?(?:sou|tenho|trabalho|trabalhei)|ik (?:ben|heb|werk))(?!\p{L})/u;
const YEARS =
  /(?<!\p{L})(?:\d{1,2}\+?|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty) (?:years?|yrs|Jahren?|ans|años|anni|anos|jaar)(?!\p{L})/iu;

/** Words that a short advertisement uses to look for a person. */
const WANTED =
  /(?:^|[\s:,])(?:needed|wanted|required|sought|gesucht|recherchée?s?|(?:re)?cherch(?:e|ons)|buscamos|necesitamos|(?:wir )?suchen|procuramos|precisamos|zoeken|se (?:busca|necesita|precisa)n?|cercasi|cerchiamo|procura-se|precisa-se|gezocht)(?=[\s.,:!]|$)|(?:^|[.!]\s+)(?:seeking|hiring|looking for|now hiring)\b|\bwe need an? \p{L}/iu;

/** "(m/w/d)" after a title: only job offers contain it. */
const GENDERS = /\(\s*(?:[mwfdx]\s*\/\s*){1,2}[mwfdxa*]\s*\)/iu;
const DRIVES = /\b(?:driving licen[cs]e|rijbewijs|carta de condução|patente [bc]|permis [bc])(?!\p{L})/iu;
/** "The Driver" is a poem or a film; an offered position has no article. */
const ARTICLE = /^(?:the|der|die|das|le|la|les|el|los|il|lo|gli|o|os|de|het)\s/i;

/** Document types that are recognizable by one word or by their figures. */
const OTHER_FORMS: readonly RegExp[] = [
  /^[^\w\n]{0,20}(?:invoice|receipt|order confirmation|quotation|delivery note|rechnung|quittung|lieferschein|angebot nr|facture|reçu|factura|recibo|fattura|ricevuta|fatura|factuur|bon)(?!\p{L})/imu,
  /\b(?:bill to|amount due|invoice (?:no|number|date)|total due|subtotal|vat (?:no|number|id|\d)|rechnungsbetrag|zahlbar bis|montant (?:ttc|ht)|importe total|imponibile|totaal te betalen)\b/i,
  /^[^\w\n]{0,20}total\b.{0,20}\d+[.,]\d\d\b/im,
  /^[^\w\n]{0,20}(?:ingredients|zutaten|ingrédients|ingredientes|ingredienti|ingrediënten)\b/im,
  /\b\d+ ?(?:g|ml|kg|cl|tbsp|tsp|cups?|el|tl)\b.{0,60}\b\d+ ?(?:g|ml|kg|cl|tbsp|tsp|cups?|el|tl|minutes|minuten)\b/is,
  /\b(?:terms (?:of (?:use|service)|and conditions)|privacy policy|all rights reserved)\b/i,
  /^[^\w\n]{0,20}(?:agenda|minutes|table of contents|chapter \d)\b/im,
  /^[^\w\n]{0,20}(?:quarterly|annual|monthly|weekly|status|progress) report\b/im,
  /\blorem ipsum\b/i,
];

/** News, biographies and stories describe others in the past tense. */
const OF_OTHERS =
  /(?<!\p{L})(?:he|she|they|er|il|elle|ella) (?:was|were|is|had|has|said|told|studied|worked|won|became|war|hatte|sagte|était|dit|fue|dijo)(?!\p{L})|(?<!\p{L})who (?:was|were|is|had|has)(?!\p{L})|(?<!\p{L})(?:said|told|announced|once upon a time|according to|sagte|selon|según|secondo|volgens)(?!\p{L})|\(\d{4} ?[-–] ?\d{4}\) was\b/iu;
