import type { Clock } from '../../ports/clock.ts';
import type { TokenScores } from '../../ports/networks/token-scores.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { withSchemaInWords } from '../model-calls/ask-model.ts';
import { readProfile } from './cv/read-cv.ts';
import type { Month } from './cv/work.ts';
import type { CheckedAnswer, DocumentEngine, ParseKind } from './document-engine.ts';
import { checkCv, checkPosting } from './model/check-answer.ts';
import { readModelCv, readModelPosting } from './model/extract-answer.ts';
import {
  extractPrompt,
  extractSchema,
  MOST_PROMPT_CHARACTERS,
  repairPrompt,
  speaksToProgram,
} from './model/extract-prompt.ts';
import type { DocumentFacts, Evidence, ParsedCv, ParsedPosting } from './parsed-document.ts';
import { inPlainLines, judgePlainCv, judgePlainPosting, mayBePlain } from './plain-texts.ts';
import { readPosting } from './posting/read-posting.ts';
import type { NetworkScores } from './tagger/decode.ts';
import { networkScores } from './tagger/signs.ts';
import { readWeights } from './tagger/weights.ts';
import { classifyDocument, guessLanguage, type KindGuess } from './text/classify.ts';
import {
  foldedPlace,
  type LaidOutText,
  layOut,
  MOST_CHARACTERS,
  type UnfoldedText,
  unfoldColumns,
} from './text/layout.ts';
import { originalPlace, type PlainText, plainCharacters } from './text/plain-characters.ts';

const KINDS = { cv: 'cv', jd: 'job_posting' } as const;
const MARK_BYTES = 12;
/** For a kind that only one of the model and the embedded engine recognizes. */
const ONE_WORD_CONFIDENCE = 0.5;
const NOTHING_FOUND = 'no value of the answer stands in the document: copy values word for word';

/** Combines the embedded engine with the prompt, schema and checks for models. */
export function createDocumentEngine(parts: {
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'randomBytes'>;
  /** The network that supplements the linear tagger; without it, only the linear tagger is used. */
  readonly tokenScores?: TokenScores;
}): DocumentEngine {
  const { clock, secrets, tokenScores } = parts;
  const embedded = createEmbeddedEngine({ tokenScores: tokenScores ?? null });

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

  /** If the model recognizes another kind, the embedded engine reads the text, including short and plain ones. */
  function factsBeside(kind: ParseKind, text: string, isWanted: boolean): DocumentFacts {
    if (isWanted) return embedded.describe(text);
    const { document } = kind === 'cv' ? embedded.parseCv(text, monthOf(clock)) : embedded.parsePosting(text);
    return document;
  }

  /**
   * Both the model and the embedded engine decide the kind of a document. Either one is enough to make it the wanted
   * kind, so that a text cannot persuade a model that it is not a CV.
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
    const bounds = boundsOf(text, claim.isCutOff);
    const document = {
      ...facts,
      kind: wanted,
      confidence,
      warnings: [...facts.warnings, ...bounds, ...warnings],
    };
    return { outcome: 'checked', parsed: { document, value, evidence }, problems: claim.problems };
  }

  return {
    async read(kind, text, _companyId, signal) {
      if (kind === 'cv') {
        const { document, profile, evidence } = await embedded.readCv(text, monthOf(clock), signal);
        return { document, value: profile, evidence };
      }
      const { document, posting, evidence } = await embedded.readPosting(text, signal);
      return { document, value: posting, evidence };
    },
    question(kind, text) {
      const mark = secrets.randomBytes(MARK_BYTES).toHex();
      const { name, schema } = extractSchema(KINDS[kind]);
      const messages = extractPrompt({ kind: KINDS[kind], text, mark });
      return {
        messages,
        responseFormat: { type: 'json_schema', json_schema: { name, schema, strict: true } },
        plainMessages: withSchemaInWords(messages, schema),
      };
    },
    repair: (said, answer, problems) => repairPrompt(said, answer, problems),
    check,
  };
}

/**
 * Reads CVs and postings without a model: the same text gives the same record, in milliseconds, and nothing leaves the
 * process. It is used if no provider is set up, and while one is unavailable.
 */
export interface EmbeddedEngine {
  /** `today` is the meaning of "present" in a time span. */
  parseCv(text: string, today: Month): ParsedCv;
  parsePosting(text: string): ParsedPosting;
  /** Uses the network's scores for the text's words, if there is a network and it is not aborted. */
  readCv(text: string, today: Month, signal?: AbortSignal): Promise<ParsedCv>;
  readPosting(text: string, signal?: AbortSignal): Promise<ParsedPosting>;
  /** Only kind and language, which a model is not asked for. */
  describe(text: string): DocumentFacts;
}

/** A text that is laid out to be read as the requested kind, before it is tagged. */
interface DocumentToRead {
  readonly whole: string;
  readonly plain: PlainText;
  readonly facts: DocumentFacts;
  readonly laidOut: LaidOutText;
  readonly unfolded: UnfoldedText;
  /** `plain`: too few signs of its kind. `other`: clearly something else, and not read. */
  readonly form: 'full' | 'plain' | 'other';
}

export function createEmbeddedEngine({
  tokenScores = null,
}: {
  readonly tokenScores?: TokenScores | null;
} = {}): EmbeddedEngine {
  const weights = readWeights();

  function layOutAs(kind: 'cv' | 'job_posting', whole: string): DocumentToRead {
    const plain = plainCharacters(whole);
    const { text } = plain;
    const unfolded = unfoldColumns(text);
    const laidOut = layOut(unfolded.text);
    const guess = classifyDocument(laidOut);
    const facts = factsOf(laidOut, guess, whole.length);
    const document = { whole, plain, facts, laidOut, unfolded };
    if (guess.kind === kind) return { ...document, form: 'full' };
    if (!mayBePlain(text, guess)) return { ...document, form: 'other' };
    return { ...document, laidOut: layOut(inPlainLines(text)), form: 'plain' };
  }

  function readAsCv(document: DocumentToRead, today: Month, scores: NetworkScores | null): ParsedCv {
    const { facts, laidOut, form } = document;
    const refused: ParsedCv = { document: refusedAs(facts, 'a CV'), profile: null, evidence: [] };
    if (form === 'other') return refused;
    const isPlain = form === 'plain';
    const { profile, evidence } = readProfile(laidOut, weights.cv, today, { isPlain, scores });
    if (isPlain) {
      const judged = judgePlainCv(laidOut, profile);
      if (judged.outcome === 'refused') return refused;
      return { document: takenAs(facts, 'cv', judged), profile, evidence: placed(document, evidence) };
    }
    return { document: facts, profile, evidence: placed(document, evidence) };
  }

  function readAsPosting(document: DocumentToRead, scores: NetworkScores | null): ParsedPosting {
    const { whole, facts, laidOut, form } = document;
    const refused: ParsedPosting = { document: refusedAs(facts, 'a posting'), posting: null, evidence: [] };
    if (form === 'other') return refused;
    const isPlain = form === 'plain';
    const { language } = facts;
    const options = { whole, language, isPlain, scores };
    const { posting, evidence } = readPosting(laidOut, weights, options);
    if (isPlain) {
      const judged = judgePlainPosting(laidOut, posting);
      if (judged.outcome === 'refused') return refused;
      const taken = takenAs(facts, 'job_posting', judged);
      return { document: taken, posting, evidence: placed(document, evidence) };
    }
    return { document: facts, posting, evidence: placed(document, evidence) };
  }

  /** The network learned from whole documents. For a few plain lines, the linear tagger and the rules are better. */
  async function scoresOf(
    kind: 'cv' | 'posting',
    { laidOut, form }: DocumentToRead,
    signal: AbortSignal | undefined,
  ): Promise<NetworkScores | null> {
    return form === 'full' ? await networkScores(tokenScores, kind, laidOut, signal) : null;
  }

  return {
    parseCv: (text, today) => readAsCv(layOutAs('cv', text), today, null),
    parsePosting: (text) => readAsPosting(layOutAs('job_posting', text), null),
    readCv: async (text, today, signal) => {
      const document = layOutAs('cv', text);
      return readAsCv(document, today, await scoresOf('cv', document, signal));
    },
    readPosting: async (text, signal) => {
      const document = layOutAs('job_posting', text);
      return readAsPosting(document, await scoresOf('posting', document, signal));
    },
    describe: (text) => {
      const laidOut = layOut(plainCharacters(text).text);
      return factsOf(laidOut, classifyDocument(laidOut), text.length);
    },
  };
}

/**
 * Evidence with its positions in the original text. A description is taken from that text itself; a plain text is not
 * unfolded.
 */
function placed({ plain, unfolded, form }: DocumentToRead, evidence: readonly Evidence[]): Evidence[] {
  return evidence.map((one) => {
    if (one.path === 'description') return one;
    const place = form === 'full' ? foldedPlace(unfolded, one.start, one.end) : one;
    return { ...one, ...originalPlace(plain, place) };
  });
}

/** Explains why there is no record, for a caller who is sure of the document's kind. */
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

/** Warnings about text that the model did not see and answers that it did not finish. */
function boundsOf(text: string, isCutOff: boolean): string[] {
  const warnings: string[] = [];
  if (text.length > MOST_PROMPT_CHARACTERS)
    warnings.push(`only the first ${MOST_PROMPT_CHARACTERS} characters were sent to the model`);
  if (isCutOff) warnings.push('the answer of the model broke off: what it had not said yet is missing');
  return warnings;
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
