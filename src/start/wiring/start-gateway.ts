import { openSqliteJournal } from '../../adapters/journal/sqlite-journal.ts';
import { openWriteAheadLog } from '../../adapters/journal/write-ahead-log.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { createOtlpTracer } from '../../adapters/tracer/otlp.ts';
import { createRequestThread } from '../../adapters/worker-thread/request-thread.ts';
import { type AnswerCache, createAnswerCache } from '../../domain/answer-cache/answer-cache.ts';
import { createPayloadLog, type PayloadLog } from '../../domain/call-payloads/payload-log.ts';
import { createAnswerCipher } from '../../domain/calls/idempotency/answer-cipher.ts';
import { createIdempotentCalls } from '../../domain/calls/idempotency/idempotent-calls.ts';
import { createAddressRefusals } from '../../domain/calls/log/address-refusals.ts';
import { chargeDeferredIn, type Deferring } from '../../domain/calls/settlement/deferred-calls.ts';
import { type CallBook, createCallBook } from '../../domain/calls/settlement/settle-call.ts';
import { setNamesPerDay } from '../../domain/calls/usage/usage-subjects.ts';
import { createHeldCredits } from '../../domain/credits/holds/holds.ts';
import { createCompanyTurns } from '../../domain/documents/company-turns.ts';
import { createKeyDirectory } from '../../domain/keys/key-directory.ts';
import { type AbandonedStreams, createAbandonedStreams } from '../../domain/limits/abandoned-streams.ts';
import { createUnpricedCalls, type UnpricedCalls } from '../../domain/limits/unpriced-calls.ts';
import { createStoredResponses } from '../../domain/stored-responses/stored-responses.ts';
import { REFUSALS } from '../../gateway/admission/refusals.ts';
import { gatewayDocument } from '../../gateway/api-docs.ts';
import { type CallMeters, createCallMeters, withMeters } from '../../gateway/call-telemetry.ts';
import { createAnswerRecorder } from '../../gateway/forwarding/answer-recorder.ts';
import { createUnpaidEndings } from '../../gateway/forwarding/end-call.ts';
import type { ReadModelBody } from '../../gateway/json/request-body.ts';
import { createRunningCalls } from '../../gateway/mcp/running-calls.ts';
import { createGateway, errorBodyOf, type GatewayParts } from '../../gateway/server.ts';
import { createClientAddress } from '../../http/client-identity.ts';
import type { DependencyChecks } from '../../http/health.ts';
import type { Listening, ListenOptions } from '../../http/listen.ts';
import type { MemoryLimit } from '../../http/memory-limit.ts';
import {
  type Counter,
  databaseMetric,
  gauge,
  type MetricSample,
  type MetricSource,
} from '../../http/metrics.ts';
import { createDocs } from '../../http/openapi.ts';
import type { CallJournal } from '../../ports/call-journal.ts';
import { failingFast } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { Tracer } from '../../ports/tracer.ts';
import type { Opening, ServiceOpening } from '../processes/start-service.ts';
import { consoleUrl } from '../settings/addresses.ts';
import type { Configuration } from '../settings/configuration.ts';
import { accepted } from '../settings/secrets.ts';
import { journalFolder, recoverDeferred } from './connect.ts';
import type { LargeBody } from './large-body-thread.ts';
import { openCallHooks } from './open-call-hooks.ts';
import type { ModelParts } from './open-models.ts';
import { checksOf, docsFiles, openServer, withMetrics } from './open-server.ts';

/** In a separate file, so that a process that is only a gateway loads none of the other surfaces. */
export async function startGateway(
  opening: ServiceOpening,
  modelParts: ModelParts,
  { reusePort }: { reusePort: boolean },
): Promise<Listening> {
  const { ports, maxBodyBytes } = opening.configuration;
  const parts = await openGatewayParts(opening, modelParts);
  const dependencies = checksOf(opening, parts.calls.journalState);
  const app = createGateway({ ...parts, maxBodyBytes, dependencies });
  if (parts.hookMetrics !== null) opening.metrics.add(parts.hookMetrics);
  opening.metrics.add(gatewayMetrics(parts, modelParts));
  opening.metrics.add(memoryMetrics(app.memory));
  opening.metrics.add(waitingMetrics(dependencies));
  opening.metrics.add(databaseMetric(dependencies));
  const fetch = withGatewayDocs(withMetrics(opening, app.fetch));
  return openServer(opening, 'gateway', 'GATEWAY_PORT', ports.gateway, fetch, {
    reusePort,
    unavailableCode: REFUSALS.unavailable.code,
    errorBody: errorBodyOf,
  });
}

interface OwnMetrics {
  readonly meters: CallMeters;
  readonly cache: AnswerCache;
  readonly payloads: PayloadLog;
  readonly hookMetrics: MetricSource | null;
}

/** The parts of the gateway besides those of every process. */
async function openGatewayParts(
  opening: Opening,
  modelParts: ModelParts,
): Promise<Omit<GatewayParts, 'dependencies' | 'maxBodyBytes'> & OwnMetrics> {
  const { configuration, clock, secrets, sharedState } = opening;
  const database = failingFast(opening.database);
  const log = opening.log.with({ service: 'gateway' });
  await setNamesPerDay(database, configuration.calls.namesPerDay);
  const keys = await createKeyDirectory({ database, sharedState, clock, secrets, log });
  opening.whenClosing('key directory', keys.close);
  const meters = createCallMeters();
  const book = withMeters(await openCallBook(opening, log), meters);
  const { callHook, calls, metrics: hookMetrics } = openCallHooks(opening, book, log);
  const addressRefusals = createAddressRefusals({ database, clock, log });
  opening.whenClosing('counts of refused addresses', addressRefusals.close);
  const masterKeys = accepted(opening.ownSecrets, 'masterKey');
  const cipher = createAnswerCipher({ masterKeys, secrets });
  const { maxAnswerBytes, keepMs } = configuration.idempotency;
  const idempotency = createIdempotentCalls({ database, clock, log, cipher, maxAnswerBytes, keepMs });
  opening.whenClosing('idempotent calls', async () => idempotency.close());
  const responses = createStoredResponses({
    ...{ database, clock, log, cipher, ...configuration.storedResponses },
  });
  const cache = createAnswerCache({
    ...{ database, clock, log, cipher, masterKeys, ...configuration.answerCache },
  });
  // Opened before the stored prompts, for which spans may wait: parts are closed in reverse order.
  const tracer = openTracer(opening, log);
  const payloads = createPayloadLog({ database, clock, log, cipher, ...configuration.payloads });
  opening.whenClosing('stored prompts', payloads.close);
  const ownState = createInProcessState({ clock, log });
  const abandoned = await createAbandonedStreams({
    ...{ sharedState, ownState, clock, log, ...configuration.abandonedStreams },
  });
  // Opened after the call book, so that streams still being drained at shutdown are ended before the book is closed.
  opening.whenClosing('abandoned streams', abandoned.close);
  const unpricedCalls = createUnpricedCalls({
    ...{ sharedState, ownState, clock, perDay: configuration.unpriced.callsPerDay },
  });
  const running = await createRunningCalls({ sharedState, log });
  opening.whenClosing('running tool calls', running.close);
  return {
    ...{ clock, log, secrets },
    ...modelParts,
    ...{ keys, calls, meters, callHook, hookMetrics, addressRefusals },
    ...{ tracer, idempotency, responses, cache, payloads },
    answerRecorder: createAnswerRecorder({ cache, payloads, tracesPayloads: configuration.tracesPayloads }),
    heldCredits: createHeldCredits({ sharedState, log, chargeDeferred: chargeDeferredIn(database, clock) }),
    database,
    unpaidEndings: createUnpaidEndings({ clock, log }),
    ...{ abandoned, unpricedCalls, unpricedFields: configuration.unpriced.fields },
    clientAddress: createClientAddress(configuration.trustedProxies),
    idleTimeoutMs: configuration.upstream.idleTimeoutMs,
    streamUsageChunk: configuration.streamUsageChunk,
    unavailableTools: configuration.unavailableTools,
    bodyTimeoutMs: configuration.bodyTimeoutMs,
    scanLargeBody: openLargeBodies(opening),
    largeBodiesBytes: configuration.largeBytes.bodies,
    largeAnswersBytes: configuration.largeBytes.answers,
    origins: [new URL(consoleUrl(configuration)).origin, ...configuration.corsOrigins],
    mcp: { running, checksHost: isReachedByItself(configuration) },
  };
}

/** Two places, so that the thread always has the next body. A company waits for at most one body of another company. */
const BODY_TURNS = { places: 2, perCompany: 1, maxWaiting: 256, waitMs: 20_000 };
const BODY_LIMITS = { maxWaiting: BODY_TURNS.places, timeoutMs: 30_000 };

/** The thread starts with the first large body. If it breaks, its calls are 503 and the next one starts it again. */
export function openLargeBodies({
  clock,
  log,
  localFaults,
  whenClosing,
}: Pick<Opening, 'clock' | 'log' | 'whenClosing'> & Partial<Pick<Opening, 'localFaults'>>): NonNullable<
  GatewayParts['scanLargeBody']
> {
  const entry = new URL('./large-body-thread.ts', import.meta.url);
  const thread = createRequestThread<LargeBody, ReadModelBody>({
    ...{ name: 'large bodies', entry, clock, log, localFaults, ...BODY_LIMITS },
  });
  whenClosing('large bodies', thread.close);
  const turns = createCompanyTurns(clock, BODY_TURNS);
  whenClosing('large bodies that wait', async () => turns.close());
  return async (companyId, bytes, wire) => {
    try {
      const turn = await turns.run(companyId, () => thread.call({ bytes: sharedCopy(bytes), wire }));
      return turn.outcome === 'done' ? turn.result : null;
    } catch (error) {
      log.error('a large body could not be read', { error });
      return null;
    }
  };
}

/** Copying 20 MB takes 10 ms; the runtime takes ten times as long to serialize them for a thread. */
function sharedCopy(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

async function openCallBook(opening: Opening, log: Log): Promise<CallBook> {
  const { configuration, clock, secrets, database } = opening;
  const { commitDeadlineMs, maxCalls } = configuration.journal;
  const folder = journalFolder(configuration);
  const journal = openSqliteJournal({ folder, maxEntries: maxCalls, newId: secrets.newId, log });
  opening.whenClosing('journal', journal.close);
  const deferring = await openDeferring(opening, journal, log);
  const book = createCallBook({ database, journal, clock, log, commitDeadlineMs, deferring });
  opening.whenClosing('call book', book.close);
  return book;
}

/** Undefined on PostgreSQL, where calls wait for their commit. */
async function openDeferring(
  opening: Opening,
  journal: CallJournal,
  log: Log,
): Promise<Deferring | undefined> {
  const { database, configuration } = opening;
  const writes = database.deferred;
  if (writes === undefined) return undefined;
  // Calls that opening the database could not charge are moved to the journal.
  await recoverDeferred(configuration, database, log, async (entries) => {
    return (await journal.append(entries)).outcome === 'written';
  });
  const writeAheadLog = openWriteAheadLog({ folder: journalFolder(configuration), log });
  opening.whenClosing('write-ahead log', async () => writeAheadLog.close());
  return { writes, writeAheadLog };
}

interface OwnMeasured {
  readonly meters: CallMeters;
  readonly calls: CallBook;
  readonly abandoned: AbandonedStreams;
  readonly unpricedCalls: UnpricedCalls;
  readonly cache: AnswerCache;
  readonly payloads: PayloadLog;
}

/** Metrics of this process's gateway. */
function gatewayMetrics(
  { meters, calls, abandoned, unpricedCalls, cache, payloads }: OwnMeasured,
  { limits }: Pick<ModelParts, 'limits'>,
): MetricSource {
  return {
    counters: () => [
      ...meters.metrics(),
      counter(
        'turnpike_abandoned_streams_total',
        'Streams whose client left before their usage: free, drained and billed, drained without usage.',
        abandonedStreams(abandoned),
      ),
      counter(
        'turnpike_unpriced_calls_total',
        'Calls whose provider reported a cost that no price covers, by the field or tool that caused it.',
        Object.entries(unpricedCalls.counts()).map(([field, value]) => ({ labels: { field }, value })),
      ),
      counter(
        'turnpike_cache_lookups_total',
        'Calls that used the exact cache: answered from it, not in it, or it could not be read or written.',
        cacheLookups(cache),
      ),
      counter('turnpike_cache_stored_total', 'Answers that were stored in the exact cache.', [
        { value: cache.counts().stored },
      ]),
      counter('turnpike_payloads_stored_total', 'Calls whose prompt and answer were stored.', [
        { value: payloads.counts().stored },
      ]),
      counter(
        'turnpike_payloads_dropped_total',
        'Calls whose prompt and answer should have been stored and were lost because the buffer was full or the database did not accept them.',
        [{ value: payloads.counts().dropped }],
      ),
      counter(
        'turnpike_holds_restored_total',
        'Holds of running calls stored again because Redis may have lost them.',
        [{ value: limits.restoredHolds() }],
      ),
      counter('turnpike_call_notes_dropped_total', 'Rows of refusals and reads that could not be written.', [
        { value: calls.droppedCount() },
      ]),
    ],
    gauges() {
      return [
        gauge(
          'turnpike_one_stream_companies',
          'Companies that have one stream at a time because drained streams ended without usage.',
          'max',
          [{ value: abandoned.counts().limited }],
        ),
        gauge(
          'turnpike_limits_alone',
          '1 while Redis is unavailable and a process limits by itself.',
          'max',
          [{ value: limits.isAlone() ? 1 : 0 }],
        ),
        gauge(
          'turnpike_call_room',
          '0 while a process refuses new calls because its journal is full.',
          'min',
          [{ value: calls.hasRoom() ? 1 : 0 }],
        ),
        gauge(
          'turnpike_journal_calls',
          'Finished calls that wait in the journals of the processes for the database.',
          'sum',
          [{ value: calls.journalState().waiting }],
        ),
      ];
    },
  };
}

/** What large bodies and answers take of the memory of this process. */
function memoryMetrics({ bodies, answers }: ReturnType<typeof createGateway>['memory']): MetricSource {
  const ofBoth = (read: (limit: MemoryLimit) => number) => [
    { labels: { of: 'bodies' }, value: read(bodies) },
    { labels: { of: 'answers' }, value: read(answers) },
  ];
  return {
    counters: () => [
      counter(
        'turnpike_large_refused_total',
        'Bodies and answers above 1 MB that were refused because others had taken the memory for them.',
        ofBoth((limit) => limit.refusedCount()),
      ),
    ],
    gauges: () => [
      gauge(
        'turnpike_large_bytes',
        'Memory that bodies and answers above 1 MB take, of LARGE_BODIES_MB and LARGE_ANSWERS_MB of each process.',
        'max',
        ofBoth((limit) => limit.heldBytes()),
      ),
    ],
  };
}

/** Calls that wait for an operator, counted in the database: the same in every process, and unknown while it hangs. */
function waitingMetrics(dependencies: DependencyChecks): MetricSource {
  return {
    async gauges() {
      const { journal, usage, secrets } = await dependencies();
      return [
        gauge(
          'turnpike_set_aside_calls',
          'Finished calls of all processes that could not be charged and wait for an operator.',
          'max',
          [{ value: journal?.figures?.set_aside ?? Number.NaN }],
        ),
        gauge(
          'turnpike_withheld_usage_calls',
          'Calls of all processes whose provider reported more usage than a call can have; the excess waits for an operator.',
          'max',
          [{ value: usage?.figures?.withheld ?? Number.NaN }],
        ),
        gauge(
          'turnpike_unreadable_secrets',
          'Kinds of stored secrets, by the key they were stored under, that do not open under MASTER_KEY or MASTER_KEY_ALSO.',
          'max',
          [{ value: secrets?.figures?.unreadable ?? Number.NaN }],
        ),
      ];
    },
  };
}

function abandonedStreams(abandoned: AbandonedStreams): readonly MetricSample[] {
  const { free, billed, unbilled } = abandoned.counts();
  return Object.entries({ free, billed, unbilled }).map(([handling, value]) => ({
    labels: { handling },
    value,
  }));
}

function cacheLookups(cache: AnswerCache): readonly MetricSample[] {
  const { hits, misses, failed } = cache.counts();
  return Object.entries({ hit: hits, miss: misses, failed }).map(([outcome, value]) => ({
    labels: { outcome },
    value,
  }));
}

function counter(name: string, help: string, samples: readonly MetricSample[]): Counter {
  return { name, help, type: 'counter', samples };
}

/** Null if tracing is off. */
function openTracer(opening: Opening, log: Log): Tracer | null {
  const { configuration, clock, secrets } = opening;
  const { endpoint, headers, sampledPart } = configuration.traces;
  if (endpoint === null) return null;
  const own = { serviceName: 'turnpike-gateway', clock, secrets, log };
  const tracer = createOtlpTracer({ endpoint, headers, sampledPart, ...own });
  opening.whenClosing('traces', tracer.close);
  return tracer;
}

/** On loopback without a proxy, every legitimate request names this machine as its host. */
function isReachedByItself({ host, trustedProxies }: Configuration): boolean {
  return ['127.0.0.1', '::1', 'localhost'].includes(host) && trustedProxies.length === 0;
}

/** Serves the gateway's documentation next to its calls, which are passed on unchanged. */
function withGatewayDocs(fetch: ListenOptions['fetch']): ListenOptions['fetch'] {
  const docs = createDocs({ title: 'Turnpike gateway', document: gatewayDocument(), files: docsFiles() });
  return (request, connection) => {
    const isCandidate = request.method === 'GET' && !request.url.includes('/llm/v1');
    const page = isCandidate ? docs(new URL(request.url).pathname) : null;
    return page ?? fetch(request, connection);
  };
}
