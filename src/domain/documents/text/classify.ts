import type { DocumentKindGuess, DocumentLanguage } from '../parsed-document.ts';
import { postingHeading } from '../posting/headings.ts';
import words from '../words/stop-words.json' with { type: 'json' };
import { isPositionWord, joinedHeads, titleHeads } from '../words/word-lists.ts';
import { CV_SIGNS, POSTING_SIGNS, pointsOf, SAYS_WORK, SPOKEN_TO, TERMS_OF_WORK } from './kind-signs.ts';
import type { LaidOutText } from './layout.ts';
import type { SectionKind } from './sections.ts';
import type { Token } from './tokens.ts';

export interface KindGuess {
  readonly kind: DocumentKindGuess;
  /** 0 to 1. */
  readonly confidence: number;
  /** Whether the text has the form of another document: a letter, an invoice, a contract, a program. */
  readonly hasAnotherForm: boolean;
}

const LEAST_CV = 3.4;
/** "We are hiring, full-time" also occurs in newspapers: two signs are not enough, three are. */
const LEAST_POSTING = 4;
/** A text with fewer words has too few signs to be classified. */
const LEAST_WORDS = 12;
/** A text with three time spans usually tells of a life; a posting must then lead by this much. */
const LEAD_OVER_SPANS = 1;
/** A file with a letter and a CV is a CV, as its sections show. */
const SECTIONS_OVER_FORM = 2;

/**
 * Decides between CV, posting and neither by the wording and layout of each kind, whatever the text was sent as. Points
 * alone are not enough: a CV also has contact details or a section of its own, a posting is about work, and neither has
 * the form of a letter or an invoice. Short and plain texts are classified as neither; `../plain-texts.ts` judges those
 * by the requested kind and by what was read.
 */
export function classifyDocument(laidOut: LaidOutText): KindGuess {
  const words = laidOut.tokens.filter(({ kind }) => kind === 'word').length;
  const isForm = hasAnotherForm(laidOut);
  const other = (confidence: number): KindGuess => ({ kind: 'other', confidence, hasAnotherForm: isForm });
  if (words < LEAST_WORDS) return other(0.9);
  const headings = new Set(laidOut.headings.flatMap((heading) => (heading === null ? [] : [heading.kind])));
  const postingSections = postingSectionsOf(laidOut);
  if (isForm) {
    const ofCv = CV_SECTIONS.filter((kind) => headings.has(kind)).length;
    if (Math.max(ofCv, postingSections) < SECTIONS_OVER_FORM) return other(0.8);
  }
  const ranges = laidOut.dates.filter(({ isRange }) => isRange).length;
  const cv = cvPoints(laidOut, headings, ranges);
  const posting = postingPoints(laidOut, postingSections);
  const isAhead = posting > cv + (ranges >= 3 ? LEAD_OVER_SPANS : 0);
  const short = isAhead ? LEAST_POSTING - posting : LEAST_CV - cv;
  if (short > 0) return other(rounded(0.5 + short / 8));
  const lead = Math.abs(cv - posting);
  const confidence = rounded(0.5 + Math.min(0.49, lead / 12));
  return { kind: isAhead ? 'job_posting' : 'cv', confidence, hasAnotherForm: isForm };
}

const CV_SECTIONS = ['work', 'education', 'skills', 'languages', 'projects'] as const;
/** The signs that name a CV or a part of one. Newspapers also describe a person's work. */
const NAMING_SIGNS = CV_SIGNS.slice(0, 3);
/** A CV has contact details at the top; at the end of a short text they are the author's or a press office's. */
const TOP_CHARACTERS = 1500;
const LEAST_TOP_CHARACTERS = 150;
const TOP_SHARE = 0.6;
const SAMPLE_CHARACTERS = 30_000;

function cvPoints(laidOut: LaidOutText, headings: ReadonlySet<SectionKind>, ranges: number): number {
  const { text, emails, phones } = laidOut;
  const sample = text.slice(0, SAMPLE_CHARACTERS);
  const sections = CV_SECTIONS.filter((kind) => headings.has(kind)).length;
  const top = Math.min(TOP_CHARACTERS, Math.max(LEAST_TOP_CHARACTERS, text.length * TOP_SHARE));
  const hasEmail = emails.some(({ start }) => start < top);
  const hasPhone = phones.some(({ start }) => start < top);
  if (!hasEmail && !hasPhone && sections === 0 && pointsOf(sample, NAMING_SIGNS) === 0) return 0;
  let points = pointsOf(sample, CV_SIGNS) + Math.min(3, ranges) + 1.2 * sections;
  if (hasEmail) points += 1.5;
  if (hasPhone) points += 1.5;
  if (tellsOfJob(laidOut)) points += 1.5;
  if (ranges > 0 && opensWithPerson(laidOut) && pointsOf(sample, SPOKEN_TO) === 0) points += 1.5;
  if (headings.has('work') && headings.has('education')) points += 1.5;
  return points;
}

function postingPoints(laidOut: LaidOutText, sections: number): number {
  const sample = laidOut.text.slice(0, SAMPLE_CHARACTERS);
  const [first = '', second = ''] = laidOut.segments.slice(0, 2).map(({ text }) => text);
  const isTitled = namesPosition(first.split(/[.,;]\s/)[0] ?? '');
  if (!isTitled && !namesPosition(second) && !SAYS_WORK.test(sample)) return 0;
  const title = isTitled ? 1.2 : 0;
  return pointsOf(sample, [...POSTING_SIGNS, TERMS_OF_WORK]) + title + 1.2 * sections;
}

const LONGEST_TITLE = 60;

/** Whether a short line names a position. */
export function namesPosition(line: string): boolean {
  if (line.length > LONGEST_TITLE) return false;
  return wordsOf(line).some(
    (word) => isPositionWord(word) || joinedHeads.some((head) => word.endsWith(head)),
  );
}

function hasTitleHead(text: string): boolean {
  return wordsOf(text).some((word) => titleHeads.has(word));
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}-]+/gu) ?? [];
}

const NEAR_NAME = 300;
const NAME =
  /^\p{Lu}[\p{L}.'’-]*(?: (?:v[ao]n|de[rnl]?|d[aiou]s?|la|le|el|bin|al|\p{Lu}[\p{L}.'’-]*)){1,4}$/u;

/** Two to five capitalized words, none of which is a word for a position. */
export function looksLikeName(text: string): boolean {
  return NAME.test(text) && !hasTitleHead(text);
}

/** A name alone on the first line with contact details right below: the start of CVs without headings. */
function opensWithPerson({ segments, headings, emails, phones }: LaidOutText): boolean {
  const [first] = segments;
  if (first === undefined || headings[0] !== null) return false;
  if (!looksLikeName(first.text)) return false;
  return [...emails, ...phones].some(({ start }) => start < first.end + NEAR_NAME);
}

const MOST_SPANS = 20;
const NEAR = 80;

/** A time span near a word for a position, which even the shortest CV has. */
function tellsOfJob({ dates, text }: LaidOutText): boolean {
  return dates
    .filter(({ isRange }) => isRange)
    .slice(0, MOST_SPANS)
    .some(({ start, end }) => hasTitleHead(text.slice(Math.max(0, start - NEAR), end + NEAR)));
}

/** Headings that only postings have; both kinds have "Skills" and "Experience". */
function postingSectionsOf({ segments }: LaidOutText): number {
  const sections = new Set<string>();
  segments.slice(0, 400).forEach((segment, at) => {
    const heading = postingHeading(segment, segments[at + 1]);
    if (heading !== null) sections.add(heading.section);
  });
  return ['tasks', 'nice', 'benefits'].filter((section) => sections.has(section)).length;
}

function rounded(value: number): number {
  return Math.round(Math.min(0.99, value) * 100) / 100;
}

/**
 * Documents that mention people, positions and pay like CVs and postings but are neither. Each is recognized by its
 * form at the top, where a CV has a name and a posting a title: the words themselves also occur in CVs and postings
 * ("processed invoices", "wrote minutes").
 */
const SALUTATION =
  /^(?:dear\b|to whom it may concern|(?:hi|hello|hallo|hola|salut|ciao|hoi)(?: \p{L}+|,)|sehr geehrte|liebe[rs]? \p{L}|guten tag|madame\b|monsieur\b|ch[eè]re?s? \p{L}|bonjour|estimad[oa]s?\b|muy señor|querid[oa]s? \p{L}|gentil[ei]\b|egregi[oa]?\b|spett|car[oaie] \p{L}|prezad[oa]s?\b|exm[oa]|geachte\b|beste \p{L}).{0,60}$/iu;
const ENDS_SALUTATION = /[,:!]$|^to whom it may concern|^(?:dear|sehr geehrte)\b/i;

/** A letter or email in which an employer looks for people. */
const OFFERS_WORK =
  /(?<!\p{L})(?:we (?:currently |now )?have (?:an? |several |two |three )?(?:\p{L}+ ){0,2}(?:openings?|vacanc(?:y|ies)|open positions?)|we(?:['’]re| are) (?:currently |now )?(?:hiring|recruiting|looking to hire)|wir (?:suchen|stellen)(?: derzeit| aktuell)? eine?n? |nous recrutons|estamos contratando|stiamo assumendo|estamos a contratar)(?!\p{L})/iu;

const SUBJECT = /^(?:subject|betreff|objet|asunto|oggetto|assunto|onderwerp|re|fwd?|aw|wg)\s*:/i;

const INVOICE =
  /^(?:tax |pro.?forma )?(?:invoice|rechnung|facture|factura|fattura|fatura|factuur)(?:snummer|nummer)?\W*(?:no|nr|n|num|núm|number|nummer|date)?\W*\d/i;

const NAMED_PAPER =
  /^(?:(?:employment|service|freelance) (?:contract|agreement)|contract of employment|(?:qualifiziertes )?(?:arbeits|zwischen)zeugnis|(?:arbeits|dienst|werk)vertrag|contrat de travail|certificat de travail|contrato (?:de trabajo|de trabalho)|contratto di lavoro|arbeidsovereenkomst|certificate of employment|minutes\b.{0,60}|protokoll (?:der|des|vom)\b.{0,60}|compte.rendu (?:de|du)\b.{0,60}|acta de (?:la )?reuni.{0,60}|verbale (?:di|della)\b.{0,60}|notulen\b.{0,60})\W*$/i;

const PARTIES =
  /\b(?:hereinafter|hereafter (?:called|referred)|nachfolgend (?:arbeit|auftrag|genannt|als)|ci.après (?:dénommé|désigné|l['’])|en adelante,? (?:el|la|denominad)|di seguito (?:denominat|["“«]))/i;
const ATTENDANCE =
  /^(?:attendees|apologies|teilnehmer(?:innen)?|anwesend|présents|asistentes|presenti|aanwezig)\s*:/i;

/** Texts that explain a trade also address the reader. */
const GUIDE =
  /^how to (?!apply)|^wie (?:man|sie|du) |^comment (?:devenir|faire)|^cómo (?:ser|hacer)|^come (?:diventare|fare)|\bin this (?:article|course|guide|chapter|paper)\b|\bin diesem (?:artikel|kurs)\b|\bdans cet article\b|\ben este (?:artículo|curso)\b|\bin quest(?:o articolo|o corso)\b/i;

const OF_A_PROGRAM =
  /^#*\s*(?:installation|install|usage|getting started|quick ?start|license|contributing|changelog|build)\W*$/i;
const LINE_OF_CODE =
  /[{;]\s*$|^\s*(?:import |from \S+ import |def |class \w+|const |let |var |function |export |return |public |private |#include|using |\/\/|\/\*|\}|@\w+\()/;
const LEAST_CODE_LINES = 4;
const CODE_SHARE = 0.4;

const TOP_SEGMENTS = 25;
const FIRST_SEGMENTS = 4;
const OPENING_SEGMENTS = 8;
const FIRST_CHARACTERS = 1500;
const GUIDE_CHARACTERS = 400;

/** Whether a text has the form of a letter, an invoice, a contract, minutes, a guide, a program or its description. */
function hasAnotherForm({ text, segments }: LaidOutText): boolean {
  const top = segments.slice(0, TOP_SEGMENTS).map((segment) => segment.text);
  const isLetter =
    top.some((line) => SALUTATION.test(line) && ENDS_SALUTATION.test(line)) ||
    top.slice(0, OPENING_SEGMENTS).some((line) => SUBJECT.test(line));
  return (
    (isLetter && !OFFERS_WORK.test(text.slice(0, FIRST_CHARACTERS))) ||
    top.some((line) => INVOICE.test(line)) ||
    top.slice(0, FIRST_SEGMENTS).some((line) => NAMED_PAPER.test(line)) ||
    top.slice(0, OPENING_SEGMENTS).some((line) => ATTENDANCE.test(line)) ||
    PARTIES.test(text.slice(0, FIRST_CHARACTERS)) ||
    GUIDE.test(text.slice(0, GUIDE_CHARACTERS)) ||
    segments.filter((segment) => OF_A_PROGRAM.test(segment.text)).length >= 2 ||
    isCode(text)
  );
}

function isCode(text: string): boolean {
  const lines = text
    .slice(0, 20_000)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const code = lines.filter((line) => LINE_OF_CODE.test(line)).length;
  return code >= LEAST_CODE_LINES && code >= CODE_SHARE * lines.length;
}

const STOP_WORD_SETS = Object.entries(words).map(([code, list]) => ({
  code: code as DocumentLanguage,
  words: new Set(list.split(' ')),
}));

/** Words that a short CV or posting has instead of sentences: headings, months, "present". */
const HEADING_WORDS: Readonly<Record<Exclude<DocumentLanguage, 'und'>, string>> = {
  en: `experience education skills languages work history employment present certificates references summary objective
    qualifications requirements responsibilities january february march june july october december native fluent since`,
  de: `berufserfahrung werdegang beruflicher ausbildung kenntnisse sprachen heute seit lebenslauf studium abschluss
    fähigkeiten praktikum aufgaben anforderungen januar februar märz juni juli oktober dezember muttersprache`,
  fr: `expérience expériences formation compétences langues depuis aujourd présent diplôme janvier février mars avril juin
    juillet août octobre décembre missions maternelle`,
  es: `experiencia educación formación habilidades idiomas actualidad actualmente desde laboral enero febrero marzo junio
    julio octubre diciembre requisitos nativo`,
  it: `esperienza esperienze istruzione formazione competenze lingue oggi attuale gennaio febbraio marzo giugno luglio
    ottobre dicembre madrelingua lavorativa`,
  pt: `experiência formação educação competências habilidades idiomas atual atualmente janeiro fevereiro março junho julho
    outubro dezembro nativo`,
  nl: `werkervaring opleiding opleidingen vaardigheden talen heden januari februari maart juni juli oktober december
    moedertaal`,
  pl: `doświadczenie zawodowe wykształcenie umiejętności języki obecnie zainteresowania stanowisko styczeń luty kwiecień
    maj czerwiec lipiec sierpień wrzesień październik grudzień`,
  cs: `praxe pracovní zkušenosti vzdělání dovednosti znalosti jazyky současnost životopis leden únor březen květen září
    říjen prosinec`,
  sk: `prax pracovné skúsenosti vzdelanie zručnosti znalosti jazyky súčasnosť životopis január február marec máj jún júl
    október`,
  hu: `tapasztalat szakmai munkahelyek végzettség tanulmányok készségek nyelvtudás nyelvismeret jelenleg napjainkig
    önéletrajz január február március május június július október`,
  ro: `experiență experiența profesională educație studii competențe aptitudini limbi prezent ianuarie februarie martie
    iunie iulie octombrie decembrie`,
  sv: `arbetslivserfarenhet anställningar utbildning kunskaper kompetenser språk pågående nuvarande modersmål januari
    februari mars maj augusti`,
  da: `erhvervserfaring ansættelser uddannelse kompetencer sprog nuværende modersmål januar februar marts maj`,
  no: `arbeidserfaring utdanning utdannelse kompetanse ferdigheter språk nåværende morsmål januar februar mars mai`,
  tr: `deneyim deneyimi eğitim bilgileri beceriler yetenekler diller dil halen günümüz özgeçmiş ocak şubat mart nisan mayıs
    haziran temmuz ağustos eylül ekim kasım aralık`,
};
const HEADING_WORD_SETS = Object.entries(HEADING_WORDS).map(([code, list]) => ({
  code: code as DocumentLanguage,
  words: new Set(list.split(/\s+/)),
}));

/** The first few thousand words are enough to detect the language. */
const MOST_LANGUAGE_TOKENS = 4000;
const LEAST_HITS = 4;
/** With few words, one language must lead clearly, otherwise the result is `und`. */
const LEAST_POINTS = 2;
const LANGUAGE_LEAD = 1.5;

/**
 * By the most frequent function words of each language, and by headings. A word shared by several languages counts
 * less.
 */
export function guessLanguage(tokens: readonly Token[]): DocumentLanguage {
  const words = tokens
    .slice(0, MOST_LANGUAGE_TOKENS)
    .flatMap(({ lower, kind }) => (kind === 'word' ? [lower] : []));
  const small = languagePoints(words, STOP_WORD_SETS);
  const headings = languagePoints(words, HEADING_WORD_SETS);
  const both = new Map(small.points);
  for (const [code, points] of headings.points) both.set(code, (both.get(code) ?? 0) + points);
  const [best, second] = ranked(both);
  if (small.hits >= LEAST_HITS) return best?.[0] ?? 'und';
  if (best === undefined || best[1] < LEAST_POINTS || best[1] < LANGUAGE_LEAD * (second?.[1] ?? 0))
    return 'und';
  return best[0];
}

interface LanguagePoints {
  readonly hits: number;
  readonly points: ReadonlyMap<DocumentLanguage, number>;
}

function languagePoints(words: readonly string[], sets: typeof STOP_WORD_SETS): LanguagePoints {
  const points = new Map<DocumentLanguage, number>();
  let hits = 0;
  for (const word of words) {
    const having = sets.filter((one) => one.words.has(word));
    if (having.length === 0) continue;
    hits++;
    for (const { code } of having) points.set(code, (points.get(code) ?? 0) + 1 / having.length);
  }
  return { hits, points };
}

function ranked(points: LanguagePoints['points']): readonly (readonly [DocumentLanguage, number])[] {
  return [...points].sort((one, other) => other[1] - one[1]);
}
