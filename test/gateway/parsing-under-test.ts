import { createDocumentReader } from '../../src/adapters/document-reader/reader-pool.ts';
import { createSocketUpstream } from '../../src/adapters/model-upstream/sockets.ts';
import { createDocumentEngine } from '../../src/domain/documents/embedded-engine.ts';
import { createFairReader } from '../../src/domain/documents/fair-reader.ts';
import { createTextParser, type TextParserParts } from '../../src/domain/documents/parse-text.ts';
import { translationPairs } from '../../src/domain/model-calls/translation/pairs.ts';
import { createTranslatingUpstream } from '../../src/domain/model-calls/translation/translating-upstream.ts';
import type { Secrets } from '../../src/ports/secrets.ts';
import { approveAnyHost } from '../doubles/approve-any-host.ts';
import { TIMEOUT_MS } from './scripted-upstream.ts';

type Given = Pick<TextParserParts, 'models' | 'breakers' | 'clock' | 'log'> & { readonly secrets: Secrets };

/** Providers over HTTP, and documents read by them or by the embedded engine; four characters are a token. */
export function openParsing(given: Given, { storesResponses = true }: { storesResponses?: boolean }) {
  const { clock, log, secrets } = given;
  const sockets = createSocketUpstream({
    clock,
    log,
    approveHost: approveAnyHost,
    firstByteTimeouts: { wholeMs: TIMEOUT_MS, streamMs: TIMEOUT_MS },
  });
  const pairs = translationPairs({ storesResponses });
  const upstream = createTranslatingUpstream({ upstream: sockets, pairs, secrets, clock });
  const parser = createTextParser({
    ...given,
    upstream,
    answerTimeoutMs: TIMEOUT_MS,
    engine: createDocumentEngine({ clock, secrets }),
    countTokens: async (text) => Math.ceil(text.length / 4),
  });
  const documentReader = createDocumentReader({ clock, log });
  const reader = createFairReader({ reader: documentReader, clock, places: 2 });
  return { upstream, reader, parser, closeReader: documentReader.close };
}
