import type { Clock } from '../../ports/clock.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { checkCv } from './check-cv.ts';
import { checkPosting } from './check-posting.ts';
import type { Month } from './cv/experience-months.ts';
import type { Evidence } from './document-facts.ts';
import { createEmbeddedEngine } from './embedded-engine.ts';
import { extractPrompt, repairPrompt } from './model/extract-prompt.ts';
import { extractSchema } from './model/extract-schema.ts';
import { readModelCv } from './model/read-model-cv.ts';
import { readModelPosting } from './model/read-model-posting.ts';
import type { CheckedAnswer, DocumentEngine, ParsedText, ParseKind } from './parse-engine.ts';

const KINDS = { cv: 'cv', jd: 'job_posting' } as const;
const MARK_BYTES = 12;
const NOTHING_FOUND = 'no value of the answer stands in the document: copy values word for word';

/** The engine of this folder, and its prompt, schema and checks for models, as one thing. */
export function createOwnEngine(parts: {
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'randomBytes'>;
}): DocumentEngine {
  const { clock, secrets } = parts;
  const embedded = createEmbeddedEngine();

  function claimOf(kind: ParseKind, answer: string) {
    if (kind === 'cv') {
      const read = readModelCv(answer);
      if (read.outcome === 'unreadable') return read;
      return {
        ...read,
        check: (text: string) => named(checkCv(text, read.profile, monthOf(clock)), 'profile'),
      };
    }
    const read = readModelPosting(answer);
    if (read.outcome === 'unreadable') return read;
    return { ...read, check: (text: string) => named(checkPosting(text, read.posting), 'posting') };
  }

  /**
   * What a document is is asked of the model and of the embedded engine: either's word makes it what was wanted, so that
   * a text cannot talk a model into seeing no CV.
   */
  function check(kind: ParseKind, text: string, answer: string): CheckedAnswer {
    const claim = claimOf(kind, answer);
    if (claim.outcome === 'unreadable') return { outcome: 'wrong', problems: claim.problems };
    const facts = embedded.describe(text);
    const wanted = KINDS[kind];
    if (claim.kind !== wanted && facts.kind !== wanted) {
      const document = { ...facts, kind: claim.kind };
      return { outcome: 'checked', parsed: { document, value: null, evidence: [] }, problems: [] };
    }
    const { value, evidence, warnings } = claim.check(text);
    if (evidence.length === 0) return { outcome: 'wrong', problems: [NOTHING_FOUND, ...claim.problems] };
    const document = { ...facts, kind: wanted, warnings: [...facts.warnings, ...warnings] };
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

interface CheckedClaim extends Pick<ParsedText, 'value'> {
  readonly evidence: readonly Evidence[];
  readonly warnings: readonly string[];
}

function named<Name extends 'profile' | 'posting'>(
  checked: { readonly [Own in Name]: Readonly<Record<string, unknown>> } & Omit<CheckedClaim, 'value'>,
  name: Name,
): CheckedClaim {
  const { evidence, warnings } = checked;
  return { value: checked[name], evidence, warnings };
}

function monthOf(clock: Clock): Month {
  const now = new Date(clock.now());
  return { year: now.getUTCFullYear(), month: now.getUTCMonth() + 1 };
}
