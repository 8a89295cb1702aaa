/**
 * Reading a long document takes this process's one thread up to a second, in which no stream of the gateway would move.
 * So the engine has a thread of its own.
 */
import { createSystemClock } from '../../adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createDocumentEngine } from '../../domain/documents/embedded-engine.ts';
import type { FromEngine, ToEngine } from './document-engine.ts';

declare const self: Worker;

const engine = createDocumentEngine({ clock: createSystemClock(), secrets: createSystemSecrets() });

self.onmessage = async ({ data }: MessageEvent<ToEngine>) => {
  const { id, kind, text, answer } = data;
  try {
    const result = answer === null ? await engine.read(kind, text) : await engine.check(kind, text, answer);
    self.postMessage({ id, outcome: 'done', result } satisfies FromEngine);
  } catch (error) {
    // Its message could hold words of the document.
    const reason = error instanceof Error ? error.name : 'unforeseen';
    self.postMessage({ id, outcome: 'failed', reason } satisfies FromEngine);
  }
};
