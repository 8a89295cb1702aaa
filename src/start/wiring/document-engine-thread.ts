/**
 * Reading a long document takes up to a second of uninterrupted computation, which would block all streams of the
 * gateway. The embedded engine therefore runs in its own thread.
 */
import { createSystemClock } from '../../adapters/clock/system-clock.ts';
import { createTokenScores } from '../../adapters/networks/token-scores.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { serveRequests, warnFromThread } from '../../adapters/worker-thread/request-thread.ts';
import type { CheckedAnswer, ParsedText, ParseKind } from '../../domain/documents/document-engine.ts';
import { createDocumentEngine } from '../../domain/documents/embedded-engine.ts';

/** A text to read, or a model's answer to check against the text. */
export interface EngineRequest {
  readonly kind: ParseKind;
  readonly text: string;
  readonly answer: string | null;
}

export type EngineResult = ParsedText | CheckedAnswer;

const engine = createDocumentEngine({
  clock: createSystemClock(),
  secrets: createSystemSecrets(),
  tokenScores: createTokenScores({
    onUnavailable: (reason) =>
      warnFromThread('CVs and postings are read without the network, by the linear taggers alone', reason),
  }),
});

/** Companies take turns before a text reaches this thread, which reads one text at a time. */
const TURNS_TAKEN_BEFORE = '';

serveRequests<EngineRequest, EngineResult>(({ kind, text, answer }, signal) =>
  answer === null
    ? engine.read(kind, text, TURNS_TAKEN_BEFORE, signal)
    : engine.check(kind, text, answer, TURNS_TAKEN_BEFORE),
);
