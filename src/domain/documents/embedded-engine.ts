import type { Month } from './cv/experience-months.ts';
import { readProfile } from './cv/read-cv.ts';
import type { DocumentFacts } from './document-facts.ts';
import { speaksToProgram } from './model/extract-prompt.ts';
import type { ParsedCv } from './parsed-cv.ts';
import type { ParsedPosting } from './parsed-posting.ts';
import { readPosting } from './posting/read-posting.ts';
import { readWeights } from './tagger/weights.ts';
import { classifyDocument } from './text/classify.ts';
import { foldedPlace, unfoldColumns } from './text/columns.ts';
import { guessLanguage } from './text/language.ts';
import { type LaidOutText, layOut, MOST_CHARACTERS } from './text/lay-out.ts';

/**
 * Reads CVs and postings without a model: the same text gives the same record, in milliseconds, and nothing leaves the
 * process. It is what works where no provider is set up, and while one is away.
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
  return {
    parseCv: (text, today) => {
      const unfolded = unfoldColumns(text);
      const laidOut = layOut(unfolded.text);
      const document = factsOf(laidOut, text.length);
      if (document.kind !== 'cv') return { document, profile: null, evidence: [] };
      const { profile, evidence } = readProfile(laidOut, weights.cv, today);
      const placed = evidence.map((one) => ({ ...one, ...foldedPlace(unfolded, one.start, one.end) }));
      return { document, profile, evidence: placed };
    },
    parsePosting: (text) => {
      const unfolded = unfoldColumns(text);
      const laidOut = layOut(unfolded.text);
      const document = factsOf(laidOut, text.length);
      if (document.kind !== 'job_posting') return { document, posting: null, evidence: [] };
      const { posting, evidence } = readPosting(laidOut, weights, {
        whole: text,
        language: document.language,
      });
      const placed = evidence.map((one) =>
        one.path === 'description' ? one : { ...one, ...foldedPlace(unfolded, one.start, one.end) },
      );
      return { document, posting, evidence: placed };
    },
    describe: (text) => factsOf(layOut(text), text.length),
  };
}

function factsOf(laidOut: LaidOutText, length: number): DocumentFacts {
  const { kind, confidence } = classifyDocument(laidOut);
  const warnings: string[] = [];
  if (length > MOST_CHARACTERS) warnings.push(`only the first ${MOST_CHARACTERS} characters were read`);
  if (speaksToProgram(laidOut.text))
    warnings.push('the document has words that address a program; they were read as text');
  return { kind, language: guessLanguage(laidOut.tokens), confidence, warnings };
}
