import { createDocumentReader } from '../../adapters/document-reader/reader-pool.ts';
import { createHttpUpstream } from '../../adapters/model-upstream/http.ts';
import { createSocketUpstream } from '../../adapters/model-upstream/sockets.ts';
import { createTextVectors } from '../../adapters/networks/text-vectors.ts';
import { createApproveHost } from '../../adapters/outgoing-addresses/approve-host.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { createRequestThread } from '../../adapters/worker-thread/request-thread.ts';
import { MATCH_GENERATOR_BREAKER, serviceOf } from '../../domain/breakers/breaker.ts';
import { type Breakers, createBreakers } from '../../domain/breakers/breakers.ts';
import { chargeDeferredIn } from '../../domain/calls/settlement/deferred-calls.ts';
import { type BillingStatuses, createBillingStatuses } from '../../domain/credits/holds/billing-status.ts';
import { type CreditHolds, createCreditHolds } from '../../domain/credits/holds/holds.ts';
import { createCompanyTurns } from '../../domain/documents/company-turns.ts';
import {
  type CheckedAnswer,
  type DocumentEngine,
  EngineBusy,
  type ParsedText,
} from '../../domain/documents/document-engine.ts';
import { createDocumentEngine } from '../../domain/documents/embedded-engine.ts';
import { createFairReader, type FairReader } from '../../domain/documents/fair-reader.ts';
import { createTextParser, type TextParser } from '../../domain/documents/parse-text.ts';
import { createLimits, type Limits } from '../../domain/limits/limits.ts';
import { translationPairs } from '../../domain/model-calls/translation/pairs.ts';
import { createTranslatingUpstream } from '../../domain/model-calls/translation/translating-upstream.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import { applyModelConfig } from '../../domain/models/apply-model-config.ts';
import { createCipher } from '../../domain/models/cipher.ts';
import { createModelDirectory, type ModelDirectory } from '../../domain/models/model-directory.ts';
import { pricesBelowCost } from '../../domain/models/prices-below-cost.ts';
import { aliasesWithoutTargets } from '../../domain/models/routing/fallbacks.ts';
import { createOwnKeyDirectory, type OwnKeyDirectory } from '../../domain/own-keys/own-key-directory.ts';
import { providerMetrics } from '../../http/metrics.ts';
import type { ModelUpstream } from '../../ports/model-upstream.ts';
import type { ApproveHost } from '../../ports/outgoing-addresses.ts';
import { StartProblem } from '../processes/lifecycle.ts';
import type { Opening, ServiceOpening } from '../processes/start-service.ts';
import { accepted } from '../settings/secrets.ts';
import type { Parts } from './connect.ts';
import type { EngineRequest, EngineResult } from './document-engine-thread.ts';
import { upstreamByRoute } from './routes-by-proxy.ts';

/** The parts of every process that calls models, opened once: gateway and workers in one process share them. */
export interface ModelParts {
  readonly models: ModelDirectory;
  readonly ownKeys: OwnKeyDirectory;
  readonly upstream: ModelUpstream;
  readonly breakers: Breakers;
  readonly billingStatuses: BillingStatuses;
  readonly holds: CreditHolds;
  readonly limits: Limits;
  readonly reader: FairReader;
  readonly parser: TextParser;
}

export async function openModelParts(opening: ServiceOpening): Promise<ModelParts> {
  const { configuration, clock, secrets, database, sharedState, log } = opening;
  await applyConfiguredModels(opening);
  const embeddedAllowed = !configuration.isProduction;
  const models = await createModelDirectory({ ...catalogueParts(opening), clock, embeddedAllowed });
  opening.whenClosing('model directory', models.close);
  const ownKeys = await createOwnKeyDirectory({ ...catalogueParts(opening), clock });
  opening.whenClosing('own provider keys', ownKeys.close);
  const billingStatuses = await createBillingStatuses({ database, sharedState, clock, log });
  opening.whenClosing('standings', billingStatuses.close);
  const { connectTimeoutMs, firstByteTimeouts, idleTimeoutMs } = configuration.upstream;
  // The result of a later answer is ignored, so a breaker would never close while all calls take longer than this.
  const trialTimeoutMs = connectTimeoutMs + Math.max(firstByteTimeouts.wholeMs, firstByteTimeouts.streamMs);
  const breakers = await createBreakers({
    sharedState,
    clock,
    log,
    ...configuration.breakers,
    trialTimeoutMs,
    processId: secrets.newId(),
    services: () => breakerNames(models.all()),
  });
  opening.whenClosing('breakers', breakers.close);
  const documentReader = createDocumentReader({ clock, log, processes: READING_PROCESSES });
  opening.whenClosing('document reader', documentReader.close);
  const reader = createFairReader({ reader: documentReader, clock, places: READING_PROCESSES });
  opening.whenClosing('documents that wait', async () => reader.close());
  const upstream = openUpstream(opening);
  const engine = openEngine(opening);
  const asking = { models, upstream, breakers, secrets, clock, log, answerTimeoutMs: idleTimeoutMs };
  const ownState = createInProcessState({ clock, log });
  const { addressRequestsPerMinute, holdWaitMs, limitShareAlone: ownShare } = configuration;
  const limits = createLimits({
    sharedState,
    ownState,
    clock,
    log,
    ownShare,
    addressRequestsPerMinute,
    holdWaitMs,
    countsAhead: configuration.redis !== null,
    onSteppedBack: (level) => opening.databaseEpoch.suspect({ ...level }),
    chargeDeferred: chargeDeferredIn(database, clock),
  });
  const lostHolds = await limits.listen(secrets.newId());
  opening.whenClosing('lost holds', lostHolds.close);
  opening.metrics.add(
    providerMetrics({
      circuitBreakers: breakers.states,
      coolingTargets: models.cooling,
      pricesBelowCost: () => pricesBelowCost(models.all(), clock.now()),
      aliasesWithoutTargets: () => aliasesWithoutTargets(models.all()),
    }),
  );
  return {
    models,
    ownKeys,
    upstream,
    breakers,
    billingStatuses,
    holds: createCreditHolds({ database, clock, log }),
    limits,
    reader,
    parser: createTextParser({ ...asking, engine, countTokens: openTokenCount(opening) }),
  };
}

/** The configured providers, and the match score generator if one of them serves it. */
function breakerNames(aliases: readonly Alias[]): Set<string> {
  const names = new Set<string>();
  for (const { kind, targets } of aliases) {
    for (const target of targets) {
      const service = serviceOf(target);
      if (service === null) continue;
      names.add(service);
      if (kind !== 'chat') names.add(MATCH_GENERATOR_BREAKER);
    }
  }
  return names;
}

/** A single company uses at most two of them. */
const READING_PROCESSES = 3;

/** The maximum number of texts in the thread, and the time limit of each, including the wait for earlier ones. */
const ENGINE_LIMITS = { maxWaiting: 4, timeoutMs: 60_000 };
/** Two places, so that the thread always has the next text. A company waits for at most one text of another company. */
const ENGINE_TURNS = { places: 2, perCompany: 1, maxWaiting: 256, waitMs: 60_000 };

/** The embedded engine, which runs long computations in its own thread. */
export function openEngine({
  clock,
  secrets,
  log,
  localFaults,
  whenClosing,
}: Pick<Opening, 'clock' | 'secrets' | 'log' | 'whenClosing'> &
  Partial<Pick<Opening, 'localFaults'>>): DocumentEngine {
  const entry = new URL('./document-engine-thread.ts', import.meta.url);
  const thread = createRequestThread<EngineRequest, EngineResult>({
    ...{ name: 'document engine', entry, clock, log, localFaults, ...ENGINE_LIMITS },
  });
  whenClosing('document engine', thread.close);
  const turns = createCompanyTurns(clock, ENGINE_TURNS);
  whenClosing('texts that wait', async () => turns.close());
  async function inTurn(
    companyId: string,
    request: EngineRequest,
    signal?: AbortSignal,
  ): Promise<EngineResult> {
    const turn = await turns.run(companyId, () => thread.call(request, signal), signal && { signal });
    if (turn.outcome === 'done') return turn.result;
    throw new EngineBusy('too many texts wait to be read');
  }
  let own: DocumentEngine | null = null;
  const here = () => {
    own ??= createDocumentEngine({ clock, secrets });
    return own;
  };
  return {
    read: async (kind, text, companyId, signal) =>
      (await inTurn(companyId, { kind, text, answer: null }, signal)) as ParsedText,
    check: async (kind, text, answer, companyId) =>
      (await inTurn(companyId, { kind, text, answer })) as CheckedAnswer,
    question: (kind, text) => here().question(kind, text),
    repair: (prompt, answer, problems) => here().repair(prompt, answer, problems),
  };
}

/** The parts for reading and changing aliases. */
export function catalogueParts({ configuration, database, sharedState, secrets, ownSecrets, log }: Parts) {
  const cipher = createCipher({ masterKeys: accepted(ownSecrets, 'masterKey'), secrets });
  return { database, sharedState, secrets, cipher, log, prefix: configuration.aliasPrefix };
}

async function applyConfiguredModels(opening: Opening): Promise<void> {
  const applied = await applyModelConfig(catalogueParts(opening), opening.configuration.models);
  if (applied.outcome === 'refused') throw new StartProblem(`MODEL_CONFIG: ${applied.problem}`);
  if (applied.outcome === 'changed') {
    opening.log.info('model aliases were changed by MODEL_CONFIG', { aliases: applied.aliases });
  }
  if (applied.retired !== undefined) {
    opening.log.warn(
      'MODEL_CONFIG names aliases that are retired: remove them from it, or create them again',
      {
        aliases: applied.retired,
      },
    );
  }
}

/** For every address that is set by a user rather than by the environment. Null if calls may reach any network. */
export function openApproveHost({
  configuration,
  clock,
  localFaults,
}: Pick<Parts, 'configuration' | 'clock' | 'localFaults'>): ApproveHost | null {
  const { upstream, usesProxy } = configuration;
  const { privateNetworks: allowed } = upstream;
  const hasProxy = usesProxy !== null;
  return allowed === 'all' ? null : createApproveHost({ clock, allowed, hasProxy, localFaults });
}

/** Only providers over HTTP, for a process that merely tests them. */
export function openProviders(parts: Parts): ModelUpstream & { close(): void } {
  const { secrets, clock } = parts;
  const http = openHttp(parts);
  const pairs = translationPairs({ storesResponses: false });
  const translating = createTranslatingUpstream({ upstream: http, pairs, secrets, clock });
  return { ...translating, close: http.close };
}

/** Providers over HTTP, and the embedded models, which are loaded on their first call. */
function openUpstream(opening: Opening): ModelUpstream {
  const { clock, log, secrets, localFaults } = opening;
  const http = openHttp(opening);
  opening.whenClosing('providers', http.close);
  let embedded: Promise<ModelUpstream & { close(): Promise<void> }> | null = null;
  opening.whenClosing('embedded models', async () => await (await embedded)?.close());
  async function loadEmbedded() {
    const { createEmbeddedUpstream } = await import('../../adapters/model-upstream/embedded.ts');
    const encoder = createTextVectors({ clock, log, localFaults });
    return createEmbeddedUpstream({ clock, log, encoder });
  }
  async function sendEmbedded(...call: Parameters<ModelUpstream['send']>) {
    embedded ??= loadEmbedded();
    return await (await embedded).send(...call);
  }
  const upstream: ModelUpstream = {
    send: (target, call) => (target.baseUrl === null ? sendEmbedded(target, call) : http.send(target, call)),
  };
  const pairs = translationPairs({ storesResponses: opening.configuration.storedResponses.isOn });
  return createTranslatingUpstream({ upstream, pairs, secrets, clock });
}

/**
 * Calls that a proxy has to carry use the runtime's fetch, and no direct connection to the provider is tried because it would
 * prove nothing. All others use our own client, which connects to the approved addresses.
 */
function openHttp({ configuration, clock, log, localFaults }: Parts): ModelUpstream & { close(): void } {
  const { upstream, usesProxy } = configuration;
  const { client, privateNetworks: allowed, ...timeouts } = upstream;
  const parts = { clock, log, localFaults, ...timeouts };
  const byFetch = () => {
    const trial = usesProxy === null ? {} : { connect: null };
    const approveHost = openApproveHost({ configuration, clock, localFaults });
    return createHttpUpstream({ ...parts, ...trial, approveHost });
  };
  if (client === 'fetch') return byFetch();
  const approveHost = createApproveHost({ clock, allowed, localFaults });
  const direct = createSocketUpstream({ ...parts, approveHost });
  return usesProxy === null ? direct : upstreamByRoute({ usesProxy, proxied: byFetch(), direct });
}

const COUNT_LIMITS = { maxWaiting: 256, timeoutMs: 60_000 };

/** Counts like the embedded models. The thread and its table are loaded when the first document is counted. */
function openTokenCount({
  clock,
  log,
  localFaults,
  whenClosing,
}: Opening): (text: string) => Promise<number> {
  const entry = new URL('./token-count-thread.ts', import.meta.url);
  const thread = createRequestThread<string, number>({
    ...{ name: 'token count', entry, clock, log, localFaults, ...COUNT_LIMITS },
  });
  whenClosing('token count', thread.close);
  return (text) => thread.call(text);
}
