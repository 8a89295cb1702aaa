import type { CallBook } from '../../domain/calls/settlement/settle-call.ts';
import type { BillingStatuses } from '../../domain/credits/holds/billing-status.ts';
import type { UnpricedCalls } from '../../domain/limits/unpriced-calls.ts';
import { createCallAbort } from '../../domain/model-calls/call-abort.ts';
import { recordOf } from '../../domain/model-calls/paid-call.ts';
import type { Alias, AliasTarget } from '../../domain/models/aliases.ts';
import type { ModelDirectory } from '../../domain/models/model-directory.ts';
import { allUnpriced, type UnpricedFieldsMode } from '../../domain/models/tiers/unpriced-fields.ts';
import type { OwnKeyDirectory } from '../../domain/own-keys/own-key-directory.ts';
import { inputItemsPage, type ResponseContent } from '../../domain/stored-responses/response-content.ts';
import type { StoredResponse, StoredResponses } from '../../domain/stored-responses/stored-responses.ts';
import type { MemoryLimit, MemoryShare } from '../../http/memory-limit.ts';
import { gatherBody } from '../../http/read-body.ts';
import type { Clock } from '../../ports/clock.ts';
import type { EndSignal, ModelUpstream } from '../../ports/model-upstream.ts';
import type { AdmittedRead } from '../admission/admit.ts';
import { payerOf } from '../admission/credit-refusals.ts';
import { planOfAlias } from '../admission/hosted-tools.ts';
import { type Refusal, refusalResponse } from '../admission/refusals.ts';
import type { Route } from '../admission/routes.ts';
import { NO_TIERS } from '../admission/tier-refusal.ts';
import { countUnpriced, createAnswerCosts } from '../forwarding/answer-costs.ts';
import { countedResponse, MEMORY_FULL } from '../forwarding/answer-memory.ts';
import { refusalOfText, withoutProviderNames } from '../forwarding/provider-errors.ts';
import { readWholeAnswer } from '../json/answer-body.ts';
import type { Usage } from '../json/reported-usage.ts';

export interface StoredResponseParts {
  readonly responses: StoredResponses;
  readonly models: ModelDirectory;
  /** If omitted, no company has its own provider keys. */
  readonly ownKeys?: Pick<OwnKeyDirectory, 'aliasFor'>;
  readonly upstream: ModelUpstream;
  readonly calls: Pick<CallBook, 'settle'>;
  readonly billingStatuses: BillingStatuses;
  readonly clock: Clock;
  readonly idleTimeoutMs: number;
  readonly answerMemory: MemoryLimit;
  readonly unpricedCalls: UnpricedCalls;
  readonly unpricedFields?: UnpricedFieldsMode;
}

type StoredRoute = Extract<Route, { kind: 'stored-response' }>;

interface Answering {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly clientSignal: AbortSignal;
}

const USUAL_ITEMS = 20;
const MOST_ITEMS = 100;

/** What is wrong with the parameters, or null. */
export function refusalOfStoredResponse({ action }: StoredRoute, search: URLSearchParams): Refusal | null {
  if (search.get('stream') === 'true') {
    return { name: 'invalidRequest', message: NO_STREAM, param: 'stream' };
  }
  const isLimit = (text: string) => /^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= MOST_ITEMS;
  if (action !== 'input-items' || search.getAll('limit').every(isLimit)) return null;
  return { name: 'invalidRequest', message: `'limit' must be from 1 to ${MOST_ITEMS}.`, param: 'limit' };
}

/**
 * `GET` and `DELETE /responses/{id}` and `GET /responses/{id}/input_items`. Only the company that created a response can find
 * it. Responses that a provider stores are read from the target that created them; those that are stored here are answered
 * from here.
 */
export async function answerStoredResponse(
  parts: StoredResponseParts,
  call: AdmittedRead,
  route: StoredRoute,
  { url, headers, clientSignal }: Answering,
): Promise<Response> {
  const share = parts.answerMemory.share(call.key.companyId);
  try {
    const search = new URL(url, 'http://gateway').searchParams;
    const answered = await answer(parts, call, route, { search, share, clientSignal });
    if (answered.outcome === 'answered' && share.hold(answered.bytes.length)) {
      const shown = { ...headers, 'content-type': 'application/json', 'cache-control': 'no-store' };
      return countedResponse(answered.bytes, share, clientSignal, { headers: shown });
    }
    share.release();
    if (clientSignal.aborted) return new Response(null, { status: CLIENT_LEFT });
    return refusalResponse(answered.outcome === 'refused' ? answered.refusal : MEMORY_FULL, headers);
  } catch (error) {
    share.release();
    throw error;
  }
}

interface Reading {
  readonly search: URLSearchParams;
  /** The memory of the answer. */
  readonly share: MemoryShare;
  readonly clientSignal: EndSignal;
}

type Answered =
  | { readonly outcome: 'answered'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

async function answer(
  parts: StoredResponseParts,
  call: AdmittedRead,
  { id, action }: StoredRoute,
  reading: Reading,
): Promise<Answered> {
  const { search, share } = reading;
  const { companyId, models } = call.key;
  const found = await parts.responses.find(companyId, { responseId: id, itemIds: [] });
  if (found.outcome === 'unavailable') return refused({ name: 'unavailable', message: UNAVAILABLE });
  const stored = found.previous;
  if (stored === null) return refused({ name: 'notFound', message: NOT_FOUND });
  if (models !== null && !models.includes(stored.alias)) return refused({ name: 'modelNotAllowed' });
  if (action === 'delete') return await remove(parts, call, stored, share);
  if (stored.content === null) return await readAtProvider(parts, call, stored, action, reading);
  return action === 'read' ? answered(stored.content.response) : inputItems(stored.content, search);
}

function inputItems(content: ResponseContent, search: URLSearchParams): Answered {
  const limit = Number(search.get('limit') ?? USUAL_ITEMS);
  const order = search.get('order') === 'asc' ? 'asc' : 'desc';
  return answered(inputItemsPage(content, { limit, after: search.get('after'), order }));
}

/** Deletes at the provider first: a remaining row can be deleted again, a response without its row cannot. */
async function remove(
  parts: StoredResponseParts,
  call: AdmittedRead,
  stored: StoredResponse,
  share: MemoryShare,
): Promise<Answered> {
  const { id } = stored;
  if (stored.content === null) {
    const target = targetOf(parts, call, stored);
    const method = 'DELETE' as const;
    const place = { method, path: `/${id}`, query: '' };
    // Not ended with its client: it would not be known whether the response is deleted.
    const sent = target === null ? null : await send(parts, target.target, place, share, null);
    if (sent !== null && sent.status !== 404 && !sent.isFine) return refused({ name: 'unavailable' });
  }
  const removed = await parts.responses.remove(call.key.companyId, id);
  if (removed === 'unavailable') return refused({ name: 'unavailable', message: UNAVAILABLE });
  if (removed === 'not-found') return refused({ name: 'notFound', message: NOT_FOUND });
  return answered({ id, object: 'response', deleted: true });
}

/** The parameters that providers know. */
const PASSED = ['include', 'include[]', 'limit', 'after', 'order'];

async function readAtProvider(
  parts: StoredResponseParts,
  call: AdmittedRead,
  stored: StoredResponse,
  action: 'read' | 'input-items',
  { search, share, clientSignal }: Reading,
): Promise<Answered> {
  const found = targetOf(parts, call, stored);
  if (found === null) return refused({ name: 'notFound', message: NO_PROVIDER });
  const below = action === 'read' ? '' : '/input_items';
  const passed = new URLSearchParams([...search].filter(([name]) => PASSED.includes(name)));
  const place = { method: 'GET', path: `/${stored.id}${below}`, query: passed.toString() } as const;
  const sent = await send(parts, found.target, place, share, clientSignal);
  if (share.wasRefused()) return refused(MEMORY_FULL);
  if (sent.status === 404) return refused({ name: 'notFound', message: NOT_FOUND });
  if (sent.status === 400 || sent.status === 422) {
    return refused(
      refusalOfText(stored.alias, found.target, sent.status, new TextDecoder().decode(sent.bytes)),
    );
  }
  if (!sent.isFine) return refused({ name: 'unavailable' });
  const hidesCosts = found.alias.ownKey === undefined;
  const read = readWholeAnswer(sent.bytes, stored.alias, 'responses', {
    hidesCosts,
    withoutNames: (text) => withoutProviderNames(text, found.target, stored.alias),
  });
  if (!read.isJsonObject) return refused({ name: 'unavailable' });
  // Only reading the response itself is charged: its input is worth nothing without the answer.
  if (action === 'read' && stored.chargeCallId !== null && read.usage !== null) {
    const { usage: tokens, bytes } = read;
    const isCharged = await charge(
      parts,
      call,
      { ...stored, chargeCallId: stored.chargeCallId },
      found.alias,
      {
        tokens,
        bytes,
      },
    );
    if (!isCharged) return refused({ name: 'unavailable' });
  }
  return { outcome: 'answered', bytes: read.bytes };
}

/**
 * Charges under the reserved id, which the ledger accepts only once, the key that reads it: for its project and within its
 * budgets. Returns false if it cannot be written now.
 */
async function charge(
  { calls, billingStatuses, clock, responses, unpricedCalls, unpricedFields }: StoredResponseParts,
  { key }: AdmittedRead,
  { id, targetId, chargeCallId }: StoredResponse & { readonly chargeCallId: string },
  alias: Alias,
  { tokens, bytes }: { readonly tokens: Usage; readonly bytes: Uint8Array },
): Promise<boolean> {
  const nowMs = clock.now();
  const status = await billingStatuses.find(key.companyId);
  const payer = payerOf(key, nowMs, status?.budgets);
  const facts = {
    requestId: chargeCallId,
    endpoint: 'responses',
    streamed: false,
    nowMs,
    prompts: 1,
    choices: 1,
    attribution: key.project === null ? null : { project: key.project },
  };
  const isMarked = unpricedFields !== 'refuse' && alias.ownKey === undefined;
  const costs = createAnswerCosts({
    ...{ route: { wire: 'responses' }, fields: facts },
    hosted: alias.tools == null ? null : planOfAlias(alias.tools),
    tiers: alias.priceFactors == null ? null : NO_TIERS,
    unpriced: isMarked ? allUnpriced(alias.tools) : undefined,
  });
  costs?.noteWhole(bytes);
  const ending = {
    outcome: 'SUCCEEDED',
    reason: 'read-later',
    httpStatus: 200,
    targetId,
    tokens,
    firstByteMs: 0,
    ...costs?.ending(alias, true),
  } as const;
  const record = recordOf(
    { id: chargeCallId, payer, alias, estimatedTokens: 0, tiers: NO_TIERS },
    facts,
    ending,
  );
  const settled = await calls.settle(record);
  if (settled.outcome === 'not-written') return false;
  await countUnpriced(unpricedCalls, record);
  await responses.charged(key.companyId, id);
  return true;
}

/**
 * The target that created it, in its alias or, because aliases change, in any other. If the company has its own key for that
 * alias, only that key is used.
 */
function targetOf(
  { models, ownKeys }: StoredResponseParts,
  { key }: AdmittedRead,
  { alias, targetId }: StoredResponse,
): { readonly alias: Alias; readonly target: AliasTarget } | null {
  const own = models.find(alias);
  for (const listed of own === null ? models.all() : [own, ...models.all()]) {
    if (!listed.targets.some(({ id }) => id === targetId)) continue;
    const one = ownKeys?.aliasFor(key.companyId, listed) ?? listed;
    const target = one.targets.find(({ id }) => id === targetId);
    return target === undefined ? null : { alias: one, target };
  }
  return null;
}

/** Only for the record: the client is gone. */
const CLIENT_LEFT = 499;

const MOST_BYTES = 64 * 1024 * 1024;

type Sent = { readonly status: number; readonly isFine: boolean; readonly bytes: Uint8Array<ArrayBuffer> };

const FAILED: Sent = { status: 503, isFine: false, bytes: new Uint8Array(0) };

/** Ends with its client, if there is one, and if the head of the answer does not arrive in time. */
async function send(
  { upstream, idleTimeoutMs, clock }: StoredResponseParts,
  target: AliasTarget,
  stored: NonNullable<Parameters<ModelUpstream['send']>[1]['stored']>,
  { hold }: MemoryShare,
  clientSignal: EndSignal | null,
): Promise<Sent> {
  const signal = createCallAbort();
  if (clientSignal?.aborted) signal.abort();
  clientSignal?.addEventListener('abort', signal.abort);
  const timer = clock.after(idleTimeoutMs, signal.abort);
  const call = { endpoint: 'responses', body: new Uint8Array(0), headers: {}, signal } as const;
  try {
    const { status, body } = await upstream.send(target, { ...call, stored });
    timer.cancel();
    const gathered = await gatherBody(body, { maxBytes: MOST_BYTES, idleMs: idleTimeoutMs, hold });
    if (gathered.outcome !== 'whole') return FAILED;
    return { status, isFine: status >= 200 && status < 300, bytes: gathered.bytes };
  } catch (error) {
    if (error instanceof Error && error.name === 'UpstreamFailure') return FAILED;
    throw error;
  } finally {
    timer.cancel();
    clientSignal?.removeEventListener('abort', signal.abort);
  }
}

const UNAVAILABLE = 'Stored responses cannot be read right now. Retry with backoff.';
const NOT_FOUND = 'This response does not exist: it was not stored, has expired or was deleted.';
const NO_PROVIDER = 'The provider that stores this response is no longer configured.';
const NO_STREAM = 'Stored responses are not streamed. Read the response whole, without stream.';

function answered(body: unknown): Answered {
  return { outcome: 'answered', bytes: new TextEncoder().encode(JSON.stringify(body)) };
}

function refused(refusal: Refusal): Answered {
  return { outcome: 'refused', refusal };
}
