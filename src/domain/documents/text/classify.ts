import type { DocumentKindGuess } from '../document-facts.ts';
import { postingHeading } from '../posting/posting-headings.ts';
import type { LaidOutText } from './lay-out.ts';

export interface KindGuess {
  readonly kind: DocumentKindGuess;
  /** 0 to 1. */
  readonly confidence: number;
}

/** What postings say and CVs do not: an employer that speaks of itself and to the reader. */
const POSTING_SIGNS: readonly (readonly [RegExp, number])[] = [
  [
    /\bwe(?:['’]re| are)? (?:looking for|hiring|seeking|searching|offer)\b|\bwe offer\b|\bjoin (?:our|us)\b/i,
    2.5,
  ],
  [
    /\b(?:the|our) (?:ideal|successful|right) candidate\b|\byou (?:will|have|bring|are|must|should)\b|\byou['’]ll\b|\byour (?:profile|role|responsibilities|tasks|mission|skills)\b/i,
    2,
  ],
  [
    /\b(?:job (?:description|summary|title|type|location|requirements?|id|purpose)|position (?:summary|overview|title)|about (?:the (?:role|job|position|team|company)|us)|what (?:we|you)(?:['’]ll)? (?:offer|do|bring|need)|who you are|who we are|the role)\b/i,
    2,
  ],
  [
    /^\W*(?:key |main |your |core |essential |job )?(?:responsibilities|duties|requirements|must.haves?|nice.to.haves?|preferred (?:qualifications|skills)|required (?:qualifications|skills|experience)|minimum qualifications|basic qualifications|benefits|perks|what we offer|how to apply)\b/im,
    2,
  ],
  [
    /\bapply (?:now|today|online|via|by|at|here)\b|\bhow to apply\b|\bsend (?:your|us your) (?:cv|resume|application)\b|\bapplications?\b.{0,30}\b(?:close|deadline)\b/i,
    2,
  ],
  [/\bequal opportunit|\bregardless of (?:race|gender|age)|\bwithout regard to race/i, 3],
  [/\(\s*(?:[mwfdx]\s*\/\s*){2}[mwfdxa*]\s*\)|\b(?:m\/w\/d|f\/m\/d|m\/f\/d|h\/f|f\/h)\b/i, 3],
  [
    /\b(?:salary|compensation|pay)(?: range)?\s*[:–-]|\bper annum\b|\bcompetitive (?:salary|pay|compensation)\b/i,
    1.5,
  ],
  [
    /\b(?:at least|minimum(?: of)?|\d\+?) (?:\w+ )?years?(?:['’])? (?:of )?(?:\w+ )?experience (?:in|with|as|required|is)\b|\b(?:is|are) (?:required|preferred|a plus|an advantage|desirable)\b/i,
    1,
  ],
  [
    /\bwir (?:suchen|bieten)\b|\b(?:ihr|dein) profil\b|\b(?:ihre|deine) aufgaben\b|\bbewerb(?:en sie sich|ung|e dich)\b|\bdas erwartet (?:sie|dich)\b/i,
    3,
  ],
  [
    /\bnous (?:recherchons|offrons|proposons)\b|\bvotre (?:profil|mission)\b|\bvos missions\b|\bprofil recherché\b|\bpostulez\b/i,
    3,
  ],
  [
    /\b(?:se busca|buscamos|ofrecemos|requisitos|funciones)\b|\bcerchiamo\b|\boffriamo\b|\bmansioni\b|\b(?:procuramos|oferecemos|requisitos|responsabilidades)\b|\b(?:wij zoeken|wij bieden|wat wij bieden|jouw profiel|functieomschrijving|solliciteer)\b/i,
    2.5,
  ],
];

const CV_SIGNS: readonly (readonly [RegExp, number])[] = [
  [/\b(?:curriculum vitae|lebenslauf|r[ée]sum[ée]|currículum|currículo)\b/i, 2.5],
  [
    /\b(?:references? (?:available|upon)|date of birth|nationality|marital status|geburtsdatum|geboren am|date de naissance|fecha de nacimiento|data di nascita|hobbies)\b/i,
    2,
  ],
  [
    /\b(?:career objective|professional summary|work history|employment history|berufserfahrung|expérience professionnelle|experiencia laboral|esperienz[ae] lavorativ[ae]|werkervaring|languages known)\b/i,
    2,
  ],
  [
    /\b(?:responsible for|worked (?:as|with|on|at|in)|developed|managed|designed|implemented|led a|i (?:am|have|was|worked)|my )\b/i,
    1,
  ],
  [/\b(?:linkedin\.com\/in|github\.com)\//i, 1],
];

/** CV, posting or neither, by what each kind says and how it is laid out. */
export function classifyDocument(laidOut: LaidOutText): KindGuess {
  const { text, emails, phones, dates, headings, tokens } = laidOut;
  const sample = text.slice(0, 30_000);
  const words = tokens.filter(({ kind }) => kind === 'word').length;
  if (words < 12) return { kind: 'other', confidence: 0.9 };
  const kinds = new Set(headings.flatMap((heading) => (heading === null ? [] : [heading.kind])));
  const ranges = dates.filter(({ isRange }) => isRange).length;
  let cv = pointsOf(sample, CV_SIGNS);
  if (emails.some(({ start }) => start < 1500)) cv += 1.5;
  if (phones.some(({ start }) => start < 1500)) cv += 1.5;
  cv += Math.min(3, ranges);
  for (const kind of ['work', 'education', 'skills', 'languages', 'projects'] as const)
    if (kinds.has(kind)) cv += 1.2;
  if (kinds.has('work') && kinds.has('education')) cv += 1.5;
  const posting = pointsOf(sample, POSTING_SIGNS) + sectionPoints(laidOut);
  const lead = Math.abs(cv - posting);
  const top = Math.max(cv, posting);
  if (top < 3.4) return { kind: 'other', confidence: rounded(0.5 + (3.4 - top) / 8) };
  const isPosting = posting > cv + (ranges >= 3 ? 1 : 0);
  return { kind: isPosting ? 'job_posting' : 'cv', confidence: rounded(0.5 + Math.min(0.49, lead / 12)) };
}

/** Headings that only postings have; "Skills" and "Experience" both have. */
function sectionPoints({ segments }: LaidOutText): number {
  const sections = new Set<string>();
  segments.slice(0, 400).forEach((segment, at) => {
    const heading = postingHeading(segment, segments[at + 1]);
    if (heading !== null) sections.add(heading.section);
  });
  return ['tasks', 'nice', 'benefits'].filter((section) => sections.has(section)).length * 1.2;
}

function pointsOf(text: string, signs: readonly (readonly [RegExp, number])[]): number {
  return signs.reduce((sum, [pattern, points]) => sum + (pattern.test(text) ? points : 0), 0);
}

function rounded(value: number): number {
  return Math.round(Math.min(0.99, value) * 100) / 100;
}
