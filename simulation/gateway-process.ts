import { withGapSignal } from '../src/adapters/shared-state/gap-signal.ts';
import { createInProcessState } from '../src/adapters/shared-state/in-process.ts';
import { type AnswerCacheParts, createAnswerCache } from '../src/domain/answer-cache/answer-cache.ts';
import { createBreakers } from '../src/domain/breakers/breakers.ts';
import { createPayloadLog } from '../src/domain/call-payloads/payload-log.ts';
import type { AnswerCipher } from '../src/domain/calls/idempotency/answer-cipher.ts';
import { createIdempotentCalls } from '../src/domain/calls/idempotency/idempotent-calls.ts';
import {
  chargeDeferredIn,
  type Deferring,
  recoverDeferredCalls,
} from '../src/domain/calls/settlement/deferred-calls.ts';
import { createCallBook } from '../src/domain/calls/settlement/settle-call.ts';
import { createBillingStatuses } from '../src/domain/credits/holds/billing-status.ts';
import { createCreditHolds, createHeldCredits } from '../src/domain/credits/holds/holds.ts';
import { createKeyDirectory } from '../src/domain/keys/key-directory.ts';
import { createAbandonedStreams } from '../src/domain/limits/abandoned-streams.ts';
import { createLimits } from '../src/domain/limits/limits.ts';
import { createUnpricedCalls } from '../src/domain/limits/unpriced-calls.ts';
import { createCipher } from '../src/domain/models/cipher.ts';
import { createModelDirectory } from '../src/domain/models/model-directory.ts';
import { startDatabaseEpoch } from '../src/domain/processes/database-epoch.ts';
import { createStoredResponses } from '../src/domain/stored-responses/stored-responses.ts';
import { createAnswerRecorder } from '../src/gateway/forwarding/answer-recorder.ts';
import { createUnpaidEndings } from '../src/gateway/forwarding/end-call.ts';
import { createGateway } from '../src/gateway/server.ts';
import { createClientAddress } from '../src/http/client-identity.ts';
import type { CallJournal, JournalEntry, LeftSegment } from '../src/ports/call-journal.ts';
import type { Clock } from '../src/ports/clock.ts';
import type { Database } from '../src/ports/database.ts';
import type { Log } from '../src/ports/log.ts';
import type { ModelUpstream } from '../src/ports/model-upstream.ts';
import type { Secrets } from '../src/ports/secrets.ts';
import type { SharedState } from '../src/ports/shared-state.ts';

/** What a process of the simulated world reaches the outside by. */
export interface ProcessPorts {
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly log: Log;
}

interface GatewayPorts extends ProcessPorts {
  readonly journal: CallJournal;
  readonly upstream: ModelUpstream;
  /** Only on the embedded engine. */
  readonly deferring?: (Deferring & { left(): LeftSegment }) | undefined;
  /** CACHE_PRICE_SHARE in millionths, where answers are cached. */
  readonly cacheShareMillionths?: number | undefined;
  /** False where what calls hold is compared exactly. */
  readonly countsAhead?: boolean;
}

export const KEEP_IDEMPOTENCY_KEYS_MS = 86_400_000;
const MASTER_KEY = 'a master key of sufficient length';

/** Answers are stored as they are: encryption is on a thread of the runtime, and none of what is simulated. */
const PLAIN: AnswerCipher = {
  seal: async (answer) => new Uint8Array(answer),
  open: async (sealed) => new Uint8Array(sealed),
  reseal: async () => 'current',
};

/** The gateway as `src/start` wires it, on simulated ports. */
export async function openGatewayProcess(ports: GatewayPorts) {
  const { database, clock, secrets, log, journal, upstream, deferring } = ports;
  if (deferring !== undefined) {
    const recover = (keep: (entries: readonly JournalEntry[]) => Promise<boolean>) =>
      recoverDeferredCalls({ statements: database, left: deferring.left(), log, keep });
    await recover(async () => false);
    await recover(async (entries) => (await journal.append(entries)).outcome === 'written');
  }
  const chargeDeferred = chargeDeferredIn(database, clock);
  const sharedState = withGapSignal(ports.sharedState);
  const cipher = createCipher({ masterKeys: [MASTER_KEY], secrets });
  const models = await createModelDirectory({
    ...{ database, sharedState, secrets, cipher, log, prefix: 'svc', embeddedAllowed: false },
    // It looks at the catalogue twice a second, which would be most of all steps: here every ten seconds.
    clock: { ...clock, after: (delayMs, work) => clock.after(delayMs * 20, work) },
  });
  const billingStatuses = await createBillingStatuses({ database, sharedState, clock, log });
  const breakers = await createBreakers({ sharedState, clock, log, failures: 1_000_000 });
  const ownState = createInProcessState({ clock, log });
  const epoch = startDatabaseEpoch({
    ...{ database, sharedState, clock, secrets, log },
    onStepBack: sharedState.signalGap,
  });
  const limits = createLimits({
    ...{ sharedState, ownState, clock, log, addressRequestsPerMinute: 0, chargeDeferred },
    countsAhead: ports.countsAhead ?? deferring === undefined,
    onSteppedBack: (level) => epoch.suspect({ ...level }),
  });
  await limits.listen(secrets.newId());
  const keys = await createKeyDirectory({ database, sharedState, clock, secrets, log });
  const calls = createCallBook({ database, journal, clock, log, commitDeadlineMs: 2_000, deferring });
  const kept = { database, clock, log, cipher: PLAIN };
  const caching = ports.cacheShareMillionths === undefined ? {} : openCache(kept, ports.cacheShareMillionths);
  const idempotency = createIdempotentCalls({
    ...kept,
    maxAnswerBytes: 100_000,
    keepMs: KEEP_IDEMPOTENCY_KEYS_MS,
  });
  const abandoned = await createAbandonedStreams({
    ...{ sharedState, ownState, clock, log, mode: 'free', freePerHour: 1_000, drainMs: 5_000 },
  });
  const unpricedCalls = createUnpricedCalls({ sharedState, ownState, clock, perDay: 100 });
  const bounds = { keepMs: 86_400_000, contentKeepMs: 86_400_000, maxBytes: 1_000, maxCompanyBytes: 1_000 };
  const app = createGateway({
    ...{ clock, log, secrets, models, keys, calls, idempotency, database, breakers, abandoned },
    ...{ billingStatuses, unpricedCalls },
    ...caching,
    ...{ limits, upstream, reader: {} as never, parser: {} as never, tracer: null },
    responses: createStoredResponses({ ...kept, isOn: false, ...bounds }),
    holds: createCreditHolds({ database, clock, log }),
    heldCredits: createHeldCredits({ sharedState, log, chargeDeferred }),
    unpaidEndings: createUnpaidEndings({ clock, log }),
    clientAddress: createClientAddress([]),
    ...{ idleTimeoutMs: 30_000, bodyTimeoutMs: 5_000, streamUsageChunk: 'always', maxBodyBytes: 1_000_000 },
    dependencies: async () => ({}),
  });
  const connection = { peerAddress: '192.0.2.1', mayBeSilent() {}, mustBeRead() {} };
  return { fetch: (request: Request) => app.fetch(request, connection) };
}

function openCache(
  kept: Pick<AnswerCacheParts, 'database' | 'log' | 'cipher'> & { readonly clock: Clock },
  priceShareMillionths: number,
) {
  const masterKeys = [MASTER_KEY] as const;
  const bounds = { maxTtlSeconds: 86_400, maxAnswerBytes: 10_000 };
  const ofCompany = { maxCompanyBytes: 1_000_000, maxCompanyAnswers: 1_000 };
  const cache = createAnswerCache({ ...kept, masterKeys, ...bounds, ...ofCompany, priceShareMillionths });
  const retention = { retentionDays: 1, maxRetentionDays: 1, maxBytes: 1_000, redacts: [] };
  const payloads = createPayloadLog({ ...kept, ...retention });
  return { cache, answerRecorder: createAnswerRecorder({ cache, payloads, tracesPayloads: false }) };
}
