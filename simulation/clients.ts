import { publishLevel } from '../src/domain/credits/ledger/credit-account.ts';
import { postTransaction } from '../src/domain/credits/ledger/ledger.ts';
import { priceOf } from '../src/domain/models/aliases.ts';
import { createCreditPackCheckout } from '../src/domain/payments/checkout.ts';
import { ALIAS, CALL_MICRO } from './base-world.ts';
import { type Try, Violation } from './books.ts';
import { GATEWAYS, hasBadRow, PLATFORM, type PlannedCall } from './plan.ts';
import { openProvider } from './platform-process.ts';
import type { RunningProcess, World } from './world.ts';

/** How one try ended, as its client sees it. */
type Ending =
  | { readonly outcome: 'whole' | 'cut' | 'left' | 'no-connection' }
  | { readonly outcome: 'refused'; readonly status: number; readonly message: string };

const CALM_MS = 40_000;
const RECORDED_WITHIN_MS = 60_000;

/** A client and one call: it tries again after a failure, and with an idempotency key now and then also without one. */
export async function makeCall(world: World, planned: PlannedCall): Promise<void> {
  const { scheduler, outside } = world;
  world.calls.set(planned.number, planned);
  for (let attempt = 1; attempt <= planned.tries; attempt += 1) {
    const ending = await tryCall(world, planned, attempt);
    const result = 'status' in ending ? `${ending.status} ${ending.message}` : ending.outcome;
    world.trace(`r${planned.number}-${attempt}: ${result}`);
    const isRepeated = planned.idempotencyKey !== null && planned.isRepeated;
    const mayRetry = ending.outcome !== 'left' && (ending.outcome !== 'whole' || isRepeated);
    if (!mayRetry || (ending.outcome === 'refused' && ending.status < 429 && ending.status !== 409)) return;
    await scheduler.wait(outside, planned.patienceMs);
  }
}

async function tryCall(world: World, planned: PlannedCall, attempt: number): Promise<Ending> {
  const { scheduler, outside, books, base } = world;
  const process = world.processes[world.isEmbedded ? 0 : (planned.process + attempt - 1) % GATEWAYS];
  const company = base.companies[planned.company];
  const key = company?.keys[planned.key];
  if (process?.gateway == null || !process.owner.isAlive || company === undefined || key === undefined) {
    return { outcome: 'no-connection' };
  }
  const { usage } = planned;
  const tokens = usage === null ? null : { ...usage, cachedTokens: 0 };
  const isBad = world.isEmbedded && hasBadRow(planned);
  const isCapped = usage !== null && usage.completionTokens > planned.maxTokens;
  const one: Try = {
    requestId: `r${planned.number}-${attempt}`,
    call: planned.number,
    account: company.id,
    keyId: key.id,
    limitMicro: key.limitMicro,
    idempotencyKey: planned.idempotencyKey,
    costMicro: tokens === null ? 0n : priceOf({ ...base.price, cachedMicro: 0n } as never, tokens),
    isCapped,
    process: process.owner.name,
    begunAtMs: scheduler.nowMs(),
    isExcused: isCapped || isBad || scheduler.nowMs() < world.excusedUntilMs,
    isBad,
    isAcknowledged: false,
    mustBeChargedByMs: null,
    isEnded: false,
    isOver: false,
  };
  books.begin(one);
  world.trace(`${one.requestId} to ${one.process}`);
  const isCalm = scheduler.nowMs() > world.troubleUntilMs + CALM_MS;
  const leaving = new AbortController();
  const asked = send(process, requestOf(planned, one, key.rawKey, leaving.signal));
  const ending = await Promise.race([
    read(world, planned, asked, leaving),
    process.died.then(() => ({ outcome: 'cut' as const })),
  ]);
  one.isEnded = ending.outcome === 'whole' || ending.outcome === 'refused';
  if (scheduler.nowMs() < world.excusedUntilMs) one.isExcused = true;
  const isPaid = tokens !== null && planned.status === 200 && planned.breaksAfter === null;
  if (ending.outcome === 'whole' && isPaid) {
    one.isAcknowledged = true;
    books.want(one);
  } else if (isPaid && process.owner.isAlive && isOurFault(ending)) {
    if (isCalm && scheduler.nowMs() > world.troubleUntilMs) {
      world.violation ??= new Violation(
        `${one.requestId} was answered ${JSON.stringify(ending)} although nothing was in trouble`,
      );
    }
    if (hasReached(world, planned, ending)) wantLater(world, one);
  }
  checkPayable(world, one, ending);
  scheduler.at(outside, 5_000, () => books.over(one));
  return ending;
}

function messageIn(body: string): string {
  return /"message":"([^"]*)"/.exec(body)?.[1] ?? body.slice(0, 100);
}

/** What is neither the client's nor the provider's doing. */
function isOurFault(ending: Ending): boolean {
  return ending.outcome === 'cut' || (ending.outcome === 'refused' && ending.status >= 500);
}

/** The provider has answered, so the call has to be paid for, although the client got an error. */
function hasReached(world: World, planned: PlannedCall, ending: Ending): boolean {
  return world.answered.has(planned.number) && ending.outcome !== 'left' && planned.idempotencyKey === null;
}

function wantLater(world: World, one: Try): void {
  const nowMs = world.scheduler.nowMs();
  if (nowMs < world.diskFullUntilMs + RECORDED_WITHIN_MS) return;
  one.mustBeChargedByMs = nowMs + RECORDED_WITHIN_MS;
  world.books.want(one);
}

/** Credits that are no longer held can be spent. */
function checkPayable(world: World, one: Try, ending: Ending): void {
  if (ending.outcome !== 'refused' || ending.status !== 402) return;
  const { books, scheduler } = world;
  const nowMs = scheduler.nowMs();
  const isClear =
    nowMs > world.heldUntilMs && nowMs > world.troubleUntilMs + CALM_MS && nowMs > world.excusedUntilMs;
  const line = books.lineOf(one.account);
  const level = books.levelOf(one.account) + (line ?? 0n);
  const isIdle = books.isIdleBut(one);
  if (isClear && isIdle && level > 0n) {
    world.violation ??= new Violation(
      `${one.requestId} was refused with 402, although ${level} micro-credits are left and nothing runs`,
    );
  }
}

function requestOf(planned: PlannedCall, one: Try, rawKey: string, signal: AbortSignal): Request {
  const { isStream, maxTokens, promptBytes, number, idempotencyKey } = planned;
  const body = JSON.stringify({
    model: ALIAS,
    user: `call-${number}`,
    stream: isStream,
    max_tokens: maxTokens,
    messages: [{ role: 'user', content: 'x'.repeat(promptBytes) }],
  });
  const headers: Record<string, string> = {
    authorization: `Bearer ${rawKey}`,
    'content-type': 'application/json',
    'content-length': String(body.length),
    'x-request-id': one.requestId,
  };
  if (idempotencyKey !== null) headers['idempotency-key'] = idempotencyKey;
  return new Request('http://gateway.simulated/llm/v1/chat/completions', {
    method: 'POST',
    headers,
    body,
    signal,
  });
}

async function send(process: RunningProcess, request: Request): Promise<Response> {
  if (process.gateway === null) throw new Error('it is not ready');
  return await process.gateway.fetch(request);
}

async function read(
  { scheduler, outside }: World,
  planned: PlannedCall,
  asked: Promise<Response>,
  leaving: AbortController,
): Promise<Ending> {
  const { leavesAfter, isStream } = planned;
  if (leavesAfter === 0) {
    await scheduler.wait(outside, planned.firstByteMs / 2);
    leaving.abort();
    await asked;
    return { outcome: 'left' };
  }
  const response = await asked;
  if (response.status !== 200) {
    return { outcome: 'refused', status: response.status, message: messageIn(await response.text()) };
  }
  if (!isStream || response.body === null) {
    await response.text();
    return { outcome: 'whole' };
  }
  const reader = response.body.getReader();
  let text = '';
  for (let chunk = 1; ; chunk += 1) {
    const { done, value } = await reader.read();
    if (done) return { outcome: text.includes('data: [DONE]') ? 'whole' : 'cut' };
    text += new TextDecoder().decode(value);
    if (leavesAfter !== null && chunk > leavesAfter) {
      leaving.abort();
      await reader.cancel();
      return { outcome: 'left' };
    }
  }
}

/** A read of the calls returns every call whose whole response a client has received. */
export async function readCalls(world: World, index: number): Promise<void> {
  const process = world.processes[index];
  const isReady = process?.gateway != null || process?.platform != null;
  const isCalm = world.scheduler.nowMs() > world.troubleUntilMs + CALM_MS;
  if (process == null || !isReady || !process.owner.isAlive || !isCalm) return;
  const asked = world.books.acknowledged();
  const found = await Promise.race([
    process.ports.database
      .query<{ requestId: string }>(
        'select request_id as "requestId" from calls where request_id = any($1::text[])',
        [asked],
      )
      .catch(() => null),
    process.died.then(() => null),
  ]);
  if (found === null || world.scheduler.nowMs() < world.troubleUntilMs) return;
  const known = new Set(found.map(({ requestId }) => requestId));
  const missing = asked.filter((requestId) => !known.has(requestId));
  if (missing.length === 0) return;
  world.violation ??= new Violation(
    `${missing[0]} is not among the calls that ${process.owner.name} reads, although its client has the whole answer`,
  );
}

const PATIENT_TRIES = 60;
const AGAIN_MS = 5_000;

/** Runs on the platform until it has succeeded once, by whichever process is the platform then. */
async function onPlatform<T>(world: World, work: (process: RunningProcess) => Promise<T>): Promise<T | null> {
  for (let attempt = 0; attempt < PATIENT_TRIES; attempt += 1) {
    const process = world.processes[PLATFORM];
    if (process?.platform != null && process.owner.isAlive) {
      const done = await Promise.race([
        work(process).then(
          (value) => ({ value }),
          () => null,
        ),
        process.died.then(() => null),
      ]);
      if (done !== null) return done.value;
    }
    await world.scheduler.wait(world.outside, AGAIN_MS);
  }
  return null;
}

/** An operator grants or takes credits, and repeats it under the same name until it is known to be done. */
export async function topUp(world: World, company: number, calls: number, number: number): Promise<void> {
  const accountId = world.base.companies[company]?.id ?? '';
  const amountMicro = BigInt(calls) * CALL_MICRO;
  const posting = {
    ...{ accountId, type: 'ADJUSTMENT' as const, amountMicro, contra: 'adjustments' as const },
    ...{ sourceKind: 'simulated', sourceId: String(number) },
  };
  await onPlatform(world, async ({ ports }) => {
    const posted = await ports.database.transaction((transaction) => postTransaction(transaction, posting));
    if (posted.outcome === 'posted') await publishLevel(ports.sharedState, posted.level);
    if (posted.outcome === 'posted' || posted.outcome === 'already-posted') {
      world.books.wantPosting(`simulated ${number}`, amountMicro);
    }
  });
}

/** A company buys a pack on the provider's page. */
export async function buyPack(world: World, company: number): Promise<void> {
  const companyId = world.base.companies[company]?.id ?? '';
  const opened = await onPlatform(world, async ({ ports, owner }) =>
    createCreditPackCheckout(
      {
        ...ports,
        provider: openProvider(ports, owner.name),
        paymentEvents: { wake: async () => {} },
        consoleUrl: 'https://console.example',
        checkoutTaxes: { isAutomatic: false, collectsTaxIds: false },
      },
      { companyId, creditPackId: world.base.packId },
    ),
  );
  if (opened?.outcome === 'opened')
    await world.desk.own(`/checkout/${opened.page.providerSessionId}/pay`, {});
}
