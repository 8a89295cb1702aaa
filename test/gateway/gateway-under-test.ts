import { expect } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { openSqliteJournal } from '../../src/adapters/journal/sqlite-journal.ts';
import { openWriteAheadLog } from '../../src/adapters/journal/write-ahead-log.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { createWebhookSender } from '../../src/adapters/webhook-sender/webhook-sender.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { type AnswerCacheParts, createAnswerCache } from '../../src/domain/answer-cache/answer-cache.ts';
import { createBreakers } from '../../src/domain/breakers/breakers.ts';
import { createPayloadLog, type PayloadLogParts } from '../../src/domain/call-payloads/payload-log.ts';
import { REDACTED_KINDS } from '../../src/domain/call-payloads/redaction.ts';
import { createAnswerCipher } from '../../src/domain/calls/idempotency/answer-cipher.ts';
import {
  createIdempotentCalls,
  type IdempotentCallParts,
} from '../../src/domain/calls/idempotency/idempotent-calls.ts';
import { createAddressRefusals } from '../../src/domain/calls/log/address-refusals.ts';
import { chargeDeferredIn, type Deferring } from '../../src/domain/calls/settlement/deferred-calls.ts';
import { createCallBook } from '../../src/domain/calls/settlement/settle-call.ts';
import { createBillingStatuses } from '../../src/domain/credits/holds/billing-status.ts';
import { createCreditHolds, createHeldCredits } from '../../src/domain/credits/holds/holds.ts';
import { createKeyDirectory } from '../../src/domain/keys/key-directory.ts';
import { type KeyToMint, mintKey } from '../../src/domain/keys/mint-key.ts';
import {
  type AbandonedStreamsParts,
  createAbandonedStreams,
} from '../../src/domain/limits/abandoned-streams.ts';
import { createLimits } from '../../src/domain/limits/limits.ts';
import { createUnpricedCalls } from '../../src/domain/limits/unpriced-calls.ts';
import { nameOfAlias } from '../../src/domain/models/aliases.ts';
import { createCipher } from '../../src/domain/models/cipher.ts';
import { type AliasToolsParams, setAliasTools } from '../../src/domain/models/hosted-tools.ts';
import { createModelDirectory, type ModelDirectory } from '../../src/domain/models/model-directory.ts';
import type { TargetParams } from '../../src/domain/models/target.ts';
import { type CatalogueParts, readCatalogue, setAliasTargets } from '../../src/domain/models/targets.ts';
import { createOwnKeyDirectory } from '../../src/domain/own-keys/own-key-directory.ts';
import {
  createStoredResponses,
  type StoredResponseParts,
} from '../../src/domain/stored-responses/stored-responses.ts';
import { type CallHookParts, createCallHook } from '../../src/gateway/admission/call-hook.ts';
import { REFUSALS } from '../../src/gateway/admission/refusals.ts';
import { createAnswerRecorder } from '../../src/gateway/forwarding/answer-recorder.ts';
import { createUnpaidEndings } from '../../src/gateway/forwarding/end-call.ts';
import { createRunningCalls } from '../../src/gateway/mcp/running-calls.ts';
import { createGateway, type GatewayParts } from '../../src/gateway/server.ts';
import { createClientAddress } from '../../src/http/client-identity.ts';
import { listen } from '../../src/http/listen.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Database, Row } from '../../src/ports/database.ts';
import type { Log } from '../../src/ports/log.ts';
import type { Secrets } from '../../src/ports/secrets.ts';
import type { SharedState } from '../../src/ports/shared-state.ts';
import type { Tracer } from '../../src/ports/tracer.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { openTestDatabase } from '../doubles/test-database.ts';
import { until } from '../doubles/until.ts';
import { creditsOf } from './credits-under-test.ts';
import { openParsing } from './parsing-under-test.ts';
import { type ScriptedUpstream, startScriptedUpstream, TIMEOUT_MS } from './scripted-upstream.ts';

export const PROVIDER_MODEL = 'provider-model-x';
const MASTER_KEY = 'a master key of sufficient length';

export interface GatewayOptions {
  readonly clock?: Clock;
  readonly addressRequestsPerMinute?: number;
  readonly trustedProxies?: readonly string[];
  readonly idleTimeoutMs?: number;
  readonly maxBodyBytes?: number;
  readonly unreadSeconds?: number;
  readonly largeBodiesBytes?: number;
  readonly largeAnswersBytes?: number;
  readonly bodyTimeoutMs?: number;
  /** Where bodies above 1 MB are scanned; like all others if omitted. */
  readonly scanLargeBody?: GatewayParts['scanLargeBody'];
  readonly embeddedAllowed?: boolean;
  readonly streamUsageChunk?: 'always' | 'asked';
  readonly unavailableTools?: 'refuse' | 'drop';
  readonly unpricedFields?: 'forward' | 'refuse';
  readonly unpricedCallsPerDay?: number;
  /** Failures in a row that open a provider's breaker; only tests of breakers want that. */
  readonly breakerFailures?: number;
  /** What the company has; a million credits where nothing is said. */
  readonly balanceMicro?: bigint;
  readonly billingMode?: 'PREPAID' | 'POSTPAID';
  /** 0 is a journal that takes nothing. */
  readonly journalMaxCalls?: number;
  readonly maxAnswerBytes?: number;
  readonly cache?: Partial<AnswerCacheParts>;
  readonly payloads?: Partial<PayloadLogParts>;
  readonly tracer?: Tracer;
  /** TRACE_PAYLOADS. */
  readonly tracesPayloads?: boolean;
  /** STORED_RESPONSES; on if it is omitted. */
  readonly storesResponses?: boolean;
  /** Replaces the database in memory; the caller closes it. */
  readonly database?: Database;
  /** Replaces the shared state in memory; the caller closes it. */
  readonly sharedState?: SharedState;
  /** Another process on the database and shared state of a first one, with its companies and aliases. */
  readonly isSecond?: boolean;
  readonly mcp?: GatewayParts['mcp'];
  readonly origins?: readonly string[];
  /** The hook before calls, as the settings give it. */
  readonly callHook?: Omit<CallHookParts, 'webhooks' | 'clock' | 'log'>;
  readonly abandonedStreams?: Partial<Pick<AbandonedStreamsParts, 'mode' | 'freePerHour' | 'drainMs'>>;
}

function choicesOf(options: GatewayOptions) {
  const { idleTimeoutMs = TIMEOUT_MS, bodyTimeoutMs = TIMEOUT_MS, unavailableTools } = options;
  const { streamUsageChunk = 'always', unpricedFields = 'forward', origins = [] } = options;
  const tools = unavailableTools === undefined ? {} : { unavailableTools };
  const { largeBodiesBytes = 512_000_000, largeAnswersBytes = 1_024_000_000, scanLargeBody } = options;
  const room = { largeBodiesBytes, largeAnswersBytes };
  const rules = { streamUsageChunk, unpricedFields, origins, ...tools };
  return { idleTimeoutMs, bodyTimeoutMs, scanLargeBody, ...rules, ...room };
}

/** The whole gateway over real sockets, on a database in memory, in front of an upstream that a test scripts. */
export async function openGateway(options: GatewayOptions = {}) {
  const [clock, secrets] = [options.clock ?? createSystemClock(), createSystemSecrets()];
  const { log, entries } = createRecordingLog();
  const real = options.database ?? (await openTestDatabase());
  const outage = { isUnavailable: false };
  const database = breakable(real, outage);
  const sharedState = options.sharedState ?? createInProcessState({ clock, log });
  const cipher = createCipher({ masterKeys: [MASTER_KEY], secrets });
  const catalogue = { database, sharedState, secrets, cipher, log, prefix: 'svc' };
  const { embeddedAllowed = false, addressRequestsPerMinute = 0, maxBodyBytes = 1024 * 1024 } = options;
  const models = await createModelDirectory({ ...catalogue, clock, embeddedAllowed });
  const ownKeys = await createOwnKeyDirectory({ ...catalogue, clock });
  const keys = await createKeyDirectory({ database, sharedState, clock, secrets, log });
  const billingStatuses = await createBillingStatuses({ database, sharedState, clock, log });
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-journal-'));
  const { journalMaxCalls: maxEntries = 1_000, breakerFailures: failures = 1_000_000 } = options;
  const { journal, calls } = openBook({ database, clock, log, secrets }, folder, maxEntries);
  const addressRefusals = createAddressRefusals({ database, clock, log });
  const breakers = await createBreakers({ sharedState, clock, log, failures });
  const idempotency = openIdempotency({ database, clock, log, secrets }, options);
  const ownState = createInProcessState({ clock, log });
  const parsing = openParsing({ models, breakers, secrets, clock, log }, options);
  const abandoned = await createAbandonedStreams({
    ...{ sharedState, ownState, clock, log, ...ABANDONED_STREAMS, ...options.abandonedStreams },
  });
  const unpricedCalls = createUnpricedCalls({ sharedState, ownState, clock, perDay: perDayOf(options) });
  const chargeDeferred = chargeDeferredIn(database, clock);
  const running = await createRunningCalls({ sharedState, log });
  const app = createGateway({
    ...{ clock, log, secrets, models, keys, calls, idempotency, database, breakers, abandoned },
    ...{ unpricedCalls, ...parsing, ownKeys, addressRefusals, billingStatuses },
    ...openStores({ database, clock, log, secrets }, options),
    holds: createCreditHolds({ database, clock, log }),
    heldCredits: createHeldCredits({ sharedState, log, chargeDeferred }),
    limits: createLimits({ sharedState, ownState, clock, log, addressRequestsPerMinute, chargeDeferred }),
    ...{ unpaidEndings: createUnpaidEndings({ clock, log }), callHook: openHook({ clock, log }, options) },
    clientAddress: createClientAddress(options.trustedProxies ?? []),
    ...choicesOf(options),
    ...{ maxBodyBytes, dependencies: async () => ({}), tracer: options.tracer ?? null },
    mcp: { running, ...options.mcp },
  });
  const listening = listenOn(app.fetch, { clock, secrets, log }, options);
  const upstream = startScriptedUpstream();
  const company = { id: secrets.newId(), name: 'Acme', billingMode: options.billingMode ?? 'PREPAID' };
  const credits = creditsOf({ database, sharedState, secrets }, company.id);
  const aim = createAim(catalogue, models);
  if (options.isSecond !== true) {
    await addCompany(database, company);
    await credits.grant(options.balanceMicro ?? 1_000_000_000_000n);
    for (const alias of ALIASES_WITH_TARGETS) await aim.aimAt(alias, upstream);
  }

  return {
    url: `${listening.url}/llm/v1`,
    upstream,
    ...aim,
    ...{ models, ownKeys, memory: app.memory },
    ...{ abandoned, unpricedCalls },
    catalogue,
    entries,
    companyId: company.id,
    credits,
    outage,
    idempotency,
    addressRefusals,
    async mint(changes: Partial<KeyToMint> = {}): Promise<{ rawKey: string; id: string }> {
      const wanted = { companyId: company.id, createdBy: null, name: 'test', ...changes };
      const minted = await mintKey({ database, secrets, clock }, wanted as KeyToMint);
      if (minted.outcome !== 'minted') throw new Error(`not minted: ${JSON.stringify(minted)}`);
      return { rawKey: minted.rawKey, id: minted.key.id };
    },
    /** The rows of this key's calls, oldest first, once there are so many. */
    calls: (keyId: string, count: number) => callsOf(real, keyId, count),
    parts: { database, sharedState, secrets, clock },
    async close(): Promise<void> {
      await listening.drain(0);
      upstream.close();
      await abandoned.close();
      const closing = [breakers, models, ownKeys, keys, billingStatuses, calls, running];
      await Promise.all(closing.map((one) => one.close()));
      idempotency.close();
      await Promise.all([addressRefusals.close(), journal.close()]);
      await parsing.closeReader();
      if (options.database === undefined) await real.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const ALIASES_WITH_TARGETS = ['svc/chat-default', 'svc/extract-default', 'svc/embed-default'];

const perDayOf = ({ unpricedCallsPerDay = 100 }: GatewayOptions) => unpricedCallsPerDay;

type Listened = Parameters<typeof listen>[0];

function listenOn(
  fetch: Listened['fetch'],
  parts: Pick<Listened, 'clock' | 'secrets' | 'log'>,
  { unreadSeconds }: GatewayOptions,
) {
  const unavailableCode = REFUSALS.unavailable.code;
  const network = { hostname: '127.0.0.1', port: 0, reusePort: false, unreadSeconds, unavailableCode };
  return listen({ name: 'gateway', fetch, ...network, ...parts });
}

type AimedFacts = Pick<TargetParams, 'provider' | 'responses'>;

/** Gives an alias its targets, and waits until the gateway has them. */
function createAim(catalogue: CatalogueParts, models: ModelDirectory) {
  async function aimAtProvider(alias: string, facts: AimedFacts, ...targets: readonly ScriptedUpstream[]) {
    const wanted = targets.map((target) => ({ ...targetAt(target), ...facts }));
    await setAliasTargets(catalogue, alias, wanted);
    // By their ids: the same address may have been there before. The embedded models are none of the stored ones.
    const { targets: stored } = await readCatalogue(catalogue.database);
    const name = nameOfAlias(catalogue.prefix, alias);
    const ids = stored.filter((target) => target.alias === name).map(({ id }) => id);
    const known = () =>
      (models.find(alias)?.targets ?? []).flatMap(({ id, baseUrl }) => (baseUrl === null ? [] : id));
    await until(() => known().join() === ids.join());
  }
  const aimAt = (alias: string, ...targets: readonly ScriptedUpstream[]) =>
    aimAtProvider(alias, {}, ...targets);
  async function equip(alias: string, wanted: AliasToolsParams) {
    const set = await setAliasTools(catalogue, alias, wanted);
    if (set.outcome !== 'changed') throw new Error(`not set: ${JSON.stringify(set)}`);
    const { tools = {}, providerIds = [] } = wanted;
    const known = () => models.find(alias)?.tools;
    await until(
      () =>
        [...(known()?.prices.keys() ?? [])].join() === Object.keys(tools).sort().join() &&
        [...(known()?.providerIds ?? [])].join() === providerIds.join(),
    );
  }
  return { aimAt, aimAtProvider, equip };
}

const ABANDONED_STREAMS = { mode: 'free', freePerHour: 100, drainMs: TIMEOUT_MS } as const;

function targetAt({ url }: ScriptedUpstream) {
  return { baseUrl: url, model: PROVIDER_MODEL, apiKey: 'sk-provider', weight: 1 };
}

async function callsOf(database: Database, keyId: string, count: number): Promise<Row[]> {
  let rows: Row[] = [];
  await until(async () => {
    rows = await database.query('select * from calls where key_id = $1 order by started_at, id', [keyId]);
    return rows.length >= count;
  });
  return rows;
}

export type GatewayUnderTest = Awaited<ReturnType<typeof openGateway>>;

export function post(url: string, rawKey: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const headers = { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json', ...init.headers };
  return fetch(url, { ...init, method: 'POST', headers, body: text as BodyInit });
}

/** The envelope of a refusal, which has exactly these four fields (G-34). */
export async function refusalOf(response: Response | Promise<Response>) {
  const answered = await response;
  const { error } = (await answered.json()) as { error: Record<string, unknown> };
  expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type']);
  return {
    status: answered.status,
    type: error.type,
    code: error.code,
    param: error.param,
    headers: answered.headers,
    message: error.message,
  };
}

function openHook(parts: Pick<CallHookParts, 'clock' | 'log'>, { callHook }: GatewayOptions) {
  const webhooks = createWebhookSender({ clock: parts.clock, approveHost: null, connects: 'runtime' });
  return callHook === undefined ? null : createCallHook({ ...callHook, ...parts, webhooks });
}

function openIdempotency(
  parts: Pick<IdempotentCallParts, 'database' | 'clock' | 'log'> & { secrets: Secrets },
  { maxAnswerBytes = 1024 * 1024 }: GatewayOptions,
) {
  const cipher = createAnswerCipher({ masterKeys: [MASTER_KEY], secrets: parts.secrets });
  return createIdempotentCalls({ ...parts, cipher, maxAnswerBytes, keepMs: 86_400_000 });
}

function openResponses(
  parts: Pick<StoredResponseParts, 'database' | 'clock' | 'log'> & { secrets: Secrets },
  { storesResponses: isOn = true }: GatewayOptions,
) {
  const cipher = createAnswerCipher({ masterKeys: [MASTER_KEY], secrets: parts.secrets });
  const bounds = {
    keepMs: 86_400_000,
    contentKeepMs: 86_400_000,
    maxBytes: 1024 * 1024,
    maxCompanyBytes: 10 * 1024 * 1024,
  };
  return createStoredResponses({ ...parts, cipher, isOn, ...bounds });
}

function openStores(
  parts: Pick<PayloadLogParts, 'database' | 'clock' | 'log'> & { secrets: Secrets },
  options: GatewayOptions,
) {
  const masterKeys = [MASTER_KEY] as const;
  const cipher = createAnswerCipher({ masterKeys, secrets: parts.secrets });
  const bounds = { maxAnswerBytes: 100_000, maxCompanyBytes: 1_000_000, maxCompanyAnswers: 100 };
  const terms = { maxTtlSeconds: 86_400, priceShareMillionths: 0 };
  const cache = createAnswerCache({ ...parts, cipher, masterKeys, ...bounds, ...terms, ...options.cache });
  const retention = { retentionDays: 30, maxRetentionDays: 90, maxBytes: 2_000, redacts: REDACTED_KINDS };
  const payloads = createPayloadLog({ ...parts, cipher, ...retention, ...options.payloads });
  const answerRecorder = createAnswerRecorder({
    cache,
    payloads,
    tracesPayloads: options.tracesPayloads ?? false,
  });
  return { responses: openResponses(parts, options), cache, payloads, answerRecorder };
}

function breakable(real: Database, outage: { isUnavailable: boolean }): Database {
  const away = () =>
    Object.assign(new Error('away'), { name: 'DatabaseFailure', reason: 'unavailable', sqlState: null });
  const unless = <T>(work: () => Promise<T>) => (outage.isUnavailable ? Promise.reject(away()) : work());
  const { deferred } = real;
  return {
    ...real,
    query: (text, values) => unless(() => real.query(text, values)),
    transaction: (work, more) => unless(() => real.transaction(work, more)),
    ...(deferred === undefined
      ? {}
      : {
          deferred: {
            ...deferred,
            writeBy: (write) =>
              deferred.writeBy((statements) =>
                write({
                  query: (text, values) => unless(() => statements.query(text, values)),
                  script: (text) => unless(() => statements.script(text)),
                }),
              ),
          },
        }),
  };
}

function openBook(parts: BookParts, folder: string, maxEntries: number) {
  const { database, log, secrets } = parts;
  const journal = openSqliteJournal({ folder, maxEntries, newId: secrets.newId, log });
  // Where a test leaves no room in the journal, there is none in the write-ahead log either.
  const deferring = maxEntries === 0 ? undefined : openDeferring(database, folder, log);
  return { journal, calls: createCallBook({ ...parts, journal, commitDeadlineMs: 2_000, deferring }) };
}

interface BookParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: Secrets;
}

/** As the gateway has it on the embedded engine. */
function openDeferring({ deferred }: Database, folder: string, log: Log): Deferring | undefined {
  return deferred === undefined
    ? undefined
    : { writes: deferred, writeAheadLog: openWriteAheadLog({ folder, log }) };
}
