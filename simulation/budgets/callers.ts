import type { SeededRandom } from '../../test/doubles/seeded-random.ts';
import { END_USERS, IN_FORCE_MS } from './actions.ts';
import {
  ALIAS,
  type BudgetWorld,
  type BudgetWorldOptions,
  COMPLETION_PRICE,
  PROMPT_PRICE,
  tokensOfCached,
} from './budget-world.ts';
import type { ModelCall, ModelKey, MoneyModel } from './model.ts';
import { monthOf } from './model.ts';
import type { CallEnd } from './upstream.ts';

interface Parts {
  readonly world: BudgetWorld;
  readonly model: MoneyModel;
  readonly rawKeys: ReadonlyMap<string, string>;
  readonly note: (line: string) => void;
  readonly options: BudgetWorldOptions;
}

interface Drawn {
  readonly number: number;
  readonly call: ModelCall;
  readonly body: string;
  readonly promptTokens: number;
  readonly maxTokens: number;
}

interface Open extends Drawn {
  readonly answer: Promise<Response>;
  readonly leaving: AbortController;
}

type Begun =
  | { readonly outcome: 'begun'; readonly open: Open }
  | { readonly outcome: 'refused'; readonly by: string };

const CACHED_VARIANTS = 3;
const CACHED_MS = 86_400_000;
const LEVEL_AGE_MS = 5_001;
const MILLION = 1_000_000;
/** Refusals before anything is held. */
const EARLY: readonly string[] = ['UNAUTHENTICATED', 'COMPANY_SUSPENDED'];
const CODES: Readonly<Record<string, string>> = { 401: 'UNAUTHENTICATED' };

/** Clients, their calls in flight, and what the model says about each. */
export function openCallers({ world, model, rawKeys, note, options }: Parts) {
  const running = new Map<number, Open>();
  const seen = { calls: 0, refusals: new Map<string, number>(), months: new Set<string>() };
  /** By body: the key whose call stored the answer, and when. */
  const cached = new Map<string, { readonly keyId: string; readonly atMs: number }>();
  let last = 0;
  let isHoldKnown = true;

  function draw(random: SeededRandom): Drawn {
    last += 1;
    const endUser = random.pick(END_USERS);
    const maxTokens = 1 + random.below(random.below(4) === 0 ? 2_000 : 300);
    const content = `call ${last} ${'x'.repeat(random.below(400))}`;
    const body = bodyOf({ content, maxTokens, endUser, stream: random.below(3) === 0 });
    const promptTokens = Math.ceil(body.length / 4);
    const call = {
      ...{ key: random.pick(model.keys), endUser, atMs: world.nowMs() },
      holds: costOf(promptTokens, maxTokens),
    };
    return { number: last, call, body, promptTokens, maxTokens };
  }

  function send(
    key: ModelKey,
    body: string,
    more: { requestId: string; signal?: AbortSignal; cache?: string },
  ) {
    const gateway = world.gateways[last % world.gateways.length];
    if (gateway === undefined) throw new Error('there is no gateway');
    const headers: Record<string, string> = {
      authorization: `Bearer ${rawKeys.get(key.id)}`,
      'content-type': 'application/json',
      'x-request-id': more.requestId,
    };
    if (more.cache !== undefined) headers['x-turnpike-cache'] = more.cache;
    const request = new Request('http://gateway.simulated/llm/v1/chat/completions', {
      ...{ method: 'POST', headers, body },
      ...(more.signal === undefined ? {} : { signal: more.signal }),
    });
    return Promise.resolve(gateway.fetch(request));
  }

  async function tryCall(drawn: Drawn): Promise<Begun> {
    const leaving = new AbortController();
    const { number, call, body } = drawn;
    const answer = send(call.key, body, { requestId: `call-${number}`, signal: leaving.signal });
    const first = await Promise.race([world.upstream.arrived(number), answer]);
    if (first === 'arrived') return { outcome: 'begun', open: { ...drawn, answer, leaving } };
    return { outcome: 'refused', by: await codeOf(first) };
  }

  function admitted(open: Open): void {
    running.set(open.number, open);
    model.begin(open.number, open.call);
    seen.calls += 1;
    seen.months.add(monthOf(open.call.atMs));
  }

  function describe({ number, call }: Drawn): string {
    const { key, endUser, holds } = call;
    return `call ${number} key ${key.id.slice(-4)} payer ${key.payer?.slice(-4) ?? 'company'} project ${key.project} user ${endUser} holds ${holds}`;
  }

  /** Null if it began. */
  function noteOutcome(call: ModelCall, code: string | null): void {
    const isEarly = EARLY.includes(code ?? '') || model.isBlockedByDebt(call);
    if (call.holds !== null && !isEarly) isHoldKnown = true;
    if (code === null) return;
    seen.refusals.set(code, (seen.refusals.get(code) ?? 0) + 1);
  }

  async function endOne(open: Open, how: CallEnd | 'leave'): Promise<readonly string[]> {
    const { number, answer, leaving, call } = open;
    const wasInDebt = model.isInDebt();
    const isUnlimited = model.beganUnlimited(number);
    const isPaid = typeof how === 'object';
    running.delete(number);
    if (how === 'leave') {
      leaving.abort();
      await answer.then((response) => response.text()).catch(() => {});
      await untilRecorded(number);
    } else {
      world.upstream.end(number, how);
      const response = await answer;
      await response.text();
      const expected = how === 'error' ? 503 : 200;
      if (response.status !== expected) return [`call ${number} was answered ${response.status}`];
    }
    const cost = isPaid ? costOf(how.prompt, how.completion) : 0;
    model.end(number, cost);
    note(`call ${number} ends: ${JSON.stringify(how)}, ${cost} for ${call.key.payer ?? 'company'}`);
    // A debt that a charge leaves is noticed within a second.
    if (model.isInDebt() !== wasInDebt) await world.pass(IN_FORCE_MS);
    // It began without a limit, so what its key has spent is read within five seconds.
    if (isUnlimited && model.hasLimit(call.key.root)) await world.pass(LEVEL_AGE_MS);
    await world.idle();
    return [];
  }

  /** After its client has left. */
  async function untilRecorded(number: number): Promise<void> {
    for (let look = 0; look < 10_000; look += 1) {
      await world.idle();
      const rows = await world.database.query('select 1 from calls where request_id = $1', [
        `call-${number}`,
      ]);
      if (rows.length > 0) return;
    }
    throw new Error(`call ${number} was not recorded`);
  }

  function drawEnd(random: SeededRandom, { promptTokens, maxTokens }: Open): CallEnd | 'leave' {
    const drawn = random.below(10);
    if (drawn === 0) return 'error';
    if (drawn === 1) return 'no-usage';
    if (drawn === 2) return 'leave';
    // A provider that does not keep to the maximum: charged at once, a deferred charge may come too late for the next call.
    const most = drawn === 3 && !options.isDeferred ? 4 * maxTokens : maxTokens;
    return { prompt: 1 + random.below(promptTokens), completion: random.below(most + 1) };
  }

  return {
    seen,

    async begin(random: SeededRandom): Promise<readonly string[]> {
      const drawn = draw(random);
      const expected = model.refusalOf(drawn.call);
      const begun = await tryCall(drawn);
      const found = begun.outcome === 'begun' ? null : begun.by;
      note(`${describe(drawn)}: ${found ?? 'begun'}`);
      noteOutcome(drawn.call, found);
      if (found !== expected)
        return [`call ${drawn.number} was ${found ?? 'begun'}, in the model ${expected ?? 'begun'}`];
      if (begun.outcome === 'begun') admitted(begun.open);
      return [];
    },

    async end(random: SeededRandom): Promise<readonly string[]> {
      const differences: string[] = [];
      const count = random.below(3) === 0 ? 3 : 1;
      const ending = [...running.values()]
        .map((open) => ({ open, order: random.below(MILLION) }))
        .sort((one, other) => one.order - other.order)
        .slice(0, count);
      // Some in one commit.
      for (const { open } of ending) differences.push(...(await endOne(open, drawEnd(random, open))));
      return differences;
    },

    async endAll(): Promise<void> {
      for (const open of [...running.values()]) await endOne(open, { prompt: 1, completion: 1 });
    },

    /**
     * In any order: what is refused must be refused after all that began, and each limit has room before the largest of those
     * that began.
     */
    async beginTogether(random: SeededRandom): Promise<readonly string[]> {
      const drawn = Array.from({ length: 2 + random.below(6) }, () => draw(random));
      const before = new Map(drawn.map((one) => [one.number, model.refusalOf(one.call)]));
      const begun = await Promise.all(drawn.map(tryCall));
      const opened = begun.flatMap((one) => (one.outcome === 'begun' ? [one.open] : []));
      const differences: string[] = [];
      for (const open of opened) {
        if (before.get(open.number) === null) continue;
        differences.push(`call ${open.number} was begun, in the model ${before.get(open.number)}`);
      }
      for (const open of opened) admitted(open);
      if (!hasOrder(opened)) differences.push('so many calls cannot begin together, in any order');
      for (const [at, one] of begun.entries()) {
        const { number, call } = drawn[at] as Drawn;
        note(`${describe(drawn[at] as Drawn)}: ${one.outcome === 'begun' ? 'begun' : one.by}, together`);
        noteOutcome(call, one.outcome === 'begun' ? null : one.by);
        if (one.outcome === 'begun') continue;
        const after = model.refusalOf(call);
        if (after === null) differences.push(`call ${number} was ${one.by}, in the model begun`);
      }
      return differences;
    },

    /** Answered from the cache if the same body was answered before. */
    async callCached(random: SeededRandom): Promise<readonly string[]> {
      last += 1;
      const variant = random.below(CACHED_VARIANTS);
      const endUser = random.pick(END_USERS);
      const body = bodyOf({ content: `cached ${variant}`, maxTokens: 50, endUser, stream: false });
      const key = random.pick(model.keys);
      const { prompt, completion } = tokensOfCached(variant);
      const share = options.cacheShareMillionths;
      const isHit = world.nowMs() - (cached.get(body)?.atMs ?? 0) < CACHED_MS;
      const price = shareOf(prompt, completion, isHit ? share : MILLION);
      const holds = isHit ? (share === 0 ? null : price) : costOf(Math.ceil(body.length / 4), 50);
      const call = { key, endUser, atMs: world.nowMs(), holds };
      const expected = model.refusalOf(call);
      const wasInDebt = model.isInDebt();
      const response = await send(key, body, {
        requestId: `call-${last}`,
        cache: `ttl=${CACHED_MS / 1_000}`,
      });
      const text = await response.clone().text();
      const found = response.status === 200 ? null : await codeOf(response);
      const how = response.headers.get('x-turnpike-cache');
      note(`cached ${variant} user ${endUser} key ${key.id.slice(-4)}: ${found ?? how} for ${price}`);
      noteOutcome(call, found);
      if (found !== expected)
        return [`a cached call was ${found ?? 'begun'} (${text}), in the model ${expected}`];
      if (found !== null) return [];
      if (how !== (isHit ? 'hit' : 'miss')) return [`a cached call was a ${how}`];
      model.begin(last, call);
      model.end(last, price);
      if (!isHit) cached.set(body, { keyId: key.id, atMs: world.nowMs() });
      if (model.isInDebt() !== wasInDebt) await world.pass(IN_FORCE_MS);
      if (key.limit === null && model.hasLimit(key.root)) await world.pass(LEVEL_AGE_MS);
      await world.idle();
      return [];
    },

    /** The answers to the calls of this key. */
    forgetCached(keyId: string): void {
      for (const [body, stored] of cached) if (stored.keyId === keyId) cached.delete(body);
    },

    /** What calls hold is stored again by the next call that holds something. */
    loseHolds(): void {
      isHoldKnown = false;
    },

    isHoldKnown: () => isHoldKnown,
  };

  /** Whether they could have begun one after the other. They run already in the model. */
  function hasOrder(opened: readonly Open[]): boolean {
    if (opened.length === 0) return true;
    return opened.some((last) => {
      const others = opened.filter((one) => one !== last);
      return model.without(last.number, () => model.refusalOf(last.call) === null && hasOrder(others));
    });
  }
}

async function codeOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error: { code: string | null; message: string } };
  return CODES[response.status] ?? error.code ?? `${response.status} ${error.message}`;
}

function bodyOf(of: { content: string; maxTokens: number; endUser: string | null; stream: boolean }): string {
  const { content, maxTokens, endUser, stream } = of;
  const named = endUser === null ? {} : { user: endUser };
  return JSON.stringify({
    ...{ model: ALIAS, stream, max_tokens: maxTokens, ...named },
    messages: [{ role: 'user', content }],
  });
}

/** Rounded up once. */
function costOf(promptTokens: number, completionTokens: number): number {
  return Math.ceil((promptTokens * PROMPT_PRICE + completionTokens * COMPLETION_PRICE) / MILLION);
}

/** A share of the exact price, rounded up once. */
function shareOf(promptTokens: number, completionTokens: number, share: number): number {
  const exact = BigInt(promptTokens * PROMPT_PRICE + completionTokens * COMPLETION_PRICE) * BigInt(share);
  return Number((exact + 999_999_999_999n) / 1_000_000_000_000n);
}
