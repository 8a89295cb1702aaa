import type { Clock } from '../../ports/clock.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { readProfile } from './cv/read-cv.ts';
import type { Month } from './cv/work.ts';
import type { CheckedAnswer, DocumentEngine, ParseKind } from './document-engine.ts';
import { checkCv, checkPosting } from './model/check-answer.ts';
import { readModelCv, readModelPosting } from './model/extract-answer.ts';
import { extractPrompt, extractSchema, repairPrompt, speaksToProgram } from './model/extract-prompt.ts';
import type { DocumentFacts, ParsedCv, ParsedPosting } from './parsed-document.ts';
import { inPlainLines, judgePlainCv, judgePlainPosting, mayBePlain } from './plain-texts.ts';
import { readPosting } from './posting/read-posting.ts';
import { readWeights } from './tagger/weights.ts';
import { classifyDocument, guessLanguage, type KindGuess } from './text/classify.ts';
import { foldedPlace, type LaidOutText, layOut, MOST_CHARACTERS, unfoldColumns } from './text/layout.ts';

const KINDS = { cv: 'cv', jd: 'job_posting' } as const;
const MARK_BYTES = 12;
/** Of a kind that the model sees and the embedded engine does not. */
const ONE_WORD_CONFIDENCE = 0.5;
const NOTHING_FOUND = 'no value of the answer stands in the document: copy values word for word';

/** The engine of this folder, and its prompt, schema and checks for models, as one thing. */
export function createDocumentEngine(parts: {
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'randomBytes'>;
}): DocumentEngine {
  const { clock, secrets } = parts;
  const embedded = createEmbeddedEngine();

  function claimOf(kind: ParseKind, answer: string) {
    if (kind === 'cv') {
      const read = readModelCv(answer);
      if (read.outcome === 'unreadable') return read;
      return { ...read, check: (text: string) => checkCv(text, read.value, monthOf(clock)) };
    }
    const read = readModelPosting(answer);
    if (read.outcome === 'unreadable') return read;
    return { ...read, check: (text: string) => checkPosting(text, read.value) };
  }

  /** Where the model sees something else, the embedded engine reads the text, short and plain ones too. */
  function factsBeside(kind: ParseKind, text: string, isWanted: boolean): DocumentFacts {
    if (isWanted) return embedded.describe(text);
    const { document } = kind === 'cv' ? embedded.parseCv(text, monthOf(clock)) : embedded.parsePosting(text);
    return document;
  }

  /**
   * What a document is is asked of the model and of the embedded engine: either's word makes it what was wanted, so that
   * a text cannot talk a model into seeing no CV.
   */
  function check(kind: ParseKind, text: string, answer: string): CheckedAnswer {
    const claim = claimOf(kind, answer);
    if (claim.outcome === 'unreadable') return { outcome: 'wrong', problems: claim.problems };
    const wanted = KINDS[kind];
    const facts = factsBeside(kind, text, claim.kind === wanted);
    if (claim.kind !== wanted && facts.kind !== wanted) {
      const document = { ...facts, kind: claim.kind };
      return { outcome: 'checked', parsed: { document, value: null, evidence: [] }, problems: [] };
    }
    const { value, evidence, warnings } = claim.check(text);
    if (evidence.length === 0) return { outcome: 'wrong', problems: [NOTHING_FOUND, ...claim.problems] };
    const confidence = facts.kind === wanted ? facts.confidence : ONE_WORD_CONFIDENCE;
    const document = { ...facts, kind: wanted, confidence, warnings: [...facts.warnings, ...warnings] };
    return { outcome: 'checked', parsed: { document, value, evidence }, problems: claim.problems };
  }

  return {
    read(kind, text) {
      if (kind === 'cv') {
        const { document, profile, evidence } = embedded.parseCv(text, monthOf(clock));
        return { document, value: profile, evidence };
      }
      const { document, posting, evidence } = embedded.parsePosting(text);
      return { document, value: posting, evidence };
    },
    question(kind, text) {
      const mark = secrets.randomBytes(MARK_BYTES).toHex();
      const { name, schema } = extractSchema(KINDS[kind]);
      return {
        messages: extractPrompt({ kind: KINDS[kind], text, mark }),
        responseFormat: { type: 'json_schema', json_schema: { name, schema, strict: true } },
      };
    },
    repair: (said, answer, problems) => repairPrompt(said, answer, problems),
    check,
  };
}

/**
 * Reads CVs and postings without a model: the same text gives the same record, in milliseconds, and nothing leaves the
 * process. It is what works where no provider is set up, and while one is unavailable.
 */
export interface EmbeddedEngine {
  /** `today` is what "present" means in a span of time. */
  parseCv(text: string, today: Month): ParsedCv;
  parsePosting(text: string): ParsedPosting;
  /** Kind and language alone, which a model is not asked for. */
  describe(text: string): DocumentFacts;
}

export function createEmbeddedEngine(): EmbeddedEngine {
  const weights = readWeights();

  function parsePlainCv(text: string, facts: DocumentFacts, guess: KindGuess, today: Month): ParsedCv {
    const refused: ParsedCv = { document: refusedAs(facts, 'a CV'), profile: null, evidence: [] };
    if (!mayBePlain(text, guess)) return refused;
    const laidOut = layOut(inPlainLines(text));
    const { profile, evidence } = readProfile(laidOut, weights.cv, today, { isPlain: true });
    const judged = judgePlainCv(laidOut, profile);
    if (judged.outcome === 'refused') return refused;
    return { document: takenAs(facts, 'cv', judged), profile, evidence };
  }

  function parsePlainPosting(text: string, facts: DocumentFacts, guess: KindGuess): ParsedPosting {
    const refused: ParsedPosting = { document: refusedAs(facts, 'a posting'), posting: null, evidence: [] };
    if (!mayBePlain(text, guess)) return refused;
    const laidOut = layOut(inPlainLines(text));
    const { language } = facts;
    const { posting, evidence } = readPosting(laidOut, weights, { whole: text, language, isPlain: true });
    const judged = judgePlainPosting(laidOut, posting);
    if (judged.outcome === 'refused') return refused;
    return { document: takenAs(facts, 'job_posting', judged), posting, evidence };
  }

  return {
    parseCv: (text, today) => {
      const unfolded = unfoldColumns(text);
      const laidOut = layOut(unfolded.text);
      const guess = classifyDocument(laidOut);
      const facts = factsOf(laidOut, guess, text.length);
      if (guess.kind !== 'cv') return parsePlainCv(text, facts, guess, today);
      const { profile, evidence } = readProfile(laidOut, weights.cv, today);
      const placed = evidence.map((one) => ({ ...one, ...foldedPlace(unfolded, one.start, one.end) }));
      return { document: facts, profile, evidence: placed };
    },
    parsePosting: (text) => {
      const unfolded = unfoldColumns(text);
      const laidOut = layOut(unfolded.text);
      const guess = classifyDocument(laidOut);
      const facts = factsOf(laidOut, guess, text.length);
      if (guess.kind !== 'job_posting') return parsePlainPosting(text, facts, guess);
      const { posting, evidence } = readPosting(laidOut, weights, { whole: text, language: facts.language });
      const placed = evidence.map((one) =>
        one.path === 'description' ? one : { ...one, ...foldedPlace(unfolded, one.start, one.end) },
      );
      return { document: facts, posting, evidence: placed };
    },
    describe: (text) => {
      const laidOut = layOut(text);
      return factsOf(laidOut, classifyDocument(laidOut), text.length);
    },
  };
}

/** Why there is no record, for a caller who is sure of the document's type. */
function refusedAs(document: DocumentFacts, wanted: string): DocumentFacts {
  const found = { cv: 'it is a CV', job_posting: 'it is a posting', other: 'it looks like something else' };
  const warning = `the text was not read as ${wanted}: ${found[document.kind]}`;
  return { ...document, warnings: [...document.warnings, warning] };
}

function takenAs(
  document: DocumentFacts,
  kind: 'cv' | 'job_posting',
  { confidence, warning }: { readonly confidence: number; readonly warning: string },
): DocumentFacts {
  return { ...document, kind, confidence, warnings: [...document.warnings, warning] };
}

function monthOf(clock: Clock): Month {
  const now = new Date(clock.now());
  return { year: now.getUTCFullYear(), month: now.getUTCMonth() + 1 };
}

function factsOf(laidOut: LaidOutText, { kind, confidence }: KindGuess, length: number): DocumentFacts {
  const warnings: string[] = [];
  if (length > MOST_CHARACTERS) warnings.push(`only the first ${MOST_CHARACTERS} characters were read`);
  if (speaksToProgram(laidOut.text))
    warnings.push('the document has words that address a program; they were read as text');
  return { kind, language: guessLanguage(laidOut.tokens), confidence, warnings };
}
