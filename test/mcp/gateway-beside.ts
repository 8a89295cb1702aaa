import { createDocumentReader } from '../../src/adapters/document-reader/reader-pool.ts';
import { createSocketUpstream } from '../../src/adapters/model-upstream/sockets.ts';
import { createBreakers } from '../../src/domain/breakers/breakers.ts';
import { createAnswerCipher } from '../../src/domain/calls/idempotency/answer-cipher.ts';
import { createIdempotentCalls } from '../../src/domain/calls/idempotency/idempotent-calls.ts';
import { createCallBook } from '../../src/domain/calls/settlement/settle-call.ts';
import { createBillingStatuses } from '../../src/domain/credits/holds/billing-status.ts';
import { createCreditHolds, createHeldCredits } from '../../src/domain/credits/holds/holds.ts';
import { createDocumentEngine } from '../../src/domain/documents/embedded-engine.ts';
import { createFairReader } from '../../src/domain/documents/fair-reader.ts';
import { createTextParser } from '../../src/domain/documents/parse-text.ts';
import { createKeyDirectory } from '../../src/domain/keys/key-directory.ts';
import { createAbandonedStreams } from '../../src/domain/limits/abandoned-streams.ts';
import { createLimits } from '../../src/domain/limits/limits.ts';
import { createCipher } from '../../src/domain/models/cipher.ts';
import { createModelDirectory } from '../../src/domain/models/model-directory.ts';
import { createStoredResponses } from '../../src/domain/stored-responses/stored-responses.ts';
import { createUnpaidEndings } from '../../src/gateway/forwarding/end-call.ts';
import { createRunningCalls } from '../../src/gateway/mcp/running-calls.ts';
import { createGateway, type GatewayParts } from '../../src/gateway/server.ts';
import { createClientAddress } from '../../src/http/client-identity.ts';
import { listen } from '../../src/http/listen.ts';
import { approveAnyHost } from '../doubles/approve-any-host.ts';
import { createMemoryJournal } from '../doubles/memory-journal.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import type { GatewayUnderTest } from '../gateway/gateway-under-test.ts';

const MASTER_KEY = 'a master key of sufficient length';
const MAX_BODY_BYTES = 1024 * 1024;
const TIMEOUT_MS = 30_000;

interface BesideOptions {
  readonly mcp?: GatewayParts['mcp'];
  readonly consoleOrigin?: string;
  readonly addressRequestsPerMinute?: number;
}

/** Simulates another gateway process: its own parts, on the database and the shared state of the first. */
export async function openGatewayBeside(first: GatewayUnderTest, options: BesideOptions = {}) {
  const { database, sharedState, secrets, clock } = first.parts;
  const { log } = createRecordingLog();
  const cipher = createCipher({ masterKeys: [MASTER_KEY], secrets });
  const common = { database, sharedState, clock, secrets, log };
  const models = await createModelDirectory({ ...common, cipher, prefix: 'svc', embeddedAllowed: false });
  const keys = await createKeyDirectory(common);
  const billingStatuses = await createBillingStatuses(common);
  const breakers = await createBreakers({ sharedState, clock, log });
  const journal = createMemoryJournal();
  const calls = createCallBook({ database, journal, clock, log, commitDeadlineMs: 2_000 });
  const answers = createAnswerCipher({ masterKeys: [MASTER_KEY], secrets });
  const idempotency = createIdempotentCalls({
    ...{ ...common, cipher: answers, maxAnswerBytes: MAX_BODY_BYTES, keepMs: 86_400_000 },
  });
  const upstream = createSocketUpstream({
    clock,
    log,
    approveHost: approveAnyHost,
    firstByteTimeoutMs: TIMEOUT_MS,
  });
  const documentReader = createDocumentReader({ clock, log });
  const reader = createFairReader({ reader: documentReader, clock, places: 2 });
  const running = await createRunningCalls({ sharedState, log });
  const { addressRequestsPerMinute = 0, consoleOrigin } = options;
  const streams = { mode: 'free', freePerHour: 100, drainMs: TIMEOUT_MS } as const;
  const abandoned = await createAbandonedStreams({ ...common, ownState: sharedState, ...streams });
  const app = createGateway({
    ...common,
    ...{ models, keys, billingStatuses, breakers, calls, idempotency, upstream, reader },
    responses: createStoredResponses({
      ...{ ...common, cipher: answers, isOn: false, keepMs: 86_400_000, maxBytes: 0, maxCompanyBytes: 0 },
    }),
    holds: createCreditHolds({ database, clock, log }),
    heldCredits: createHeldCredits({ sharedState, log }),
    limits: createLimits({ sharedState, ownState: sharedState, clock, log, addressRequestsPerMinute }),
    parser: createTextParser({
      ...{ models, breakers, secrets, clock, log, upstream, answerTimeoutMs: TIMEOUT_MS },
      engine: createDocumentEngine({ clock, secrets }),
      countTokens: async (text) => Math.ceil(text.length / 4),
    }),
    unpaidEndings: createUnpaidEndings({ clock, log }),
    abandoned,
    clientAddress: createClientAddress([]),
    idleTimeoutMs: TIMEOUT_MS,
    bodyTimeoutMs: TIMEOUT_MS,
    maxBodyBytes: MAX_BODY_BYTES,
    dependencies: async () => ({}),
    ...(consoleOrigin === undefined ? {} : { consoleOrigin }),
    mcp: { running, ...options.mcp },
  });
  const network = { hostname: '127.0.0.1', port: 0, reusePort: false };
  const own = { clock, secrets, log };
  const listening = listen({ name: 'gateway', fetch: app.fetch, ...network, ...own });
  return {
    url: `${listening.url}/llm/v1`,
    async close(): Promise<void> {
      await listening.drain(0);
      await abandoned.close();
      await Promise.all([
        breakers.close(),
        models.close(),
        keys.close(),
        billingStatuses.close(),
        calls.close(),
      ]);
      idempotency.close();
      await Promise.all([running.close(), documentReader.close(), journal.close()]);
    },
  };
}
