import { expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { auditCommand } from '../../src/command-line/credit-commands.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import type { FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';
import { setCompanyBilling } from '../../src/domain/credits/ledger/credit-account.ts';
import { type Posting, postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import type { PriceVersion } from '../../src/domain/models/aliases.ts';
import type { Database } from '../../src/ports/database.ts';
import { Crash, crashingDatabase } from '../doubles/crashing-database.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createModelBooks, type ModelBooks } from '../doubles/model-books.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { typedCommand } from '../doubles/typed-command.ts';

/** Something that is done to the books; done again, it must change nothing. */
interface Deed {
  readonly run: (database: Database) => Promise<unknown>;
  readonly onModel: (model: ModelBooks) => void;
  /** Statements of its own, with the commit: where it can die. */
  readonly statements: number;
}

interface SimulationOptions {
  readonly seed: number;
  readonly steps: number;
  /** How many deeds may be under way at once: one connection takes one after the other. */
  readonly atOnce: number;
  readonly timeoutMs: number;
}

const MODELS = ['chat-default', 'chat-cheap', 'embed-default'];
const HOUR_MS = 3_600_000;
const WHOLE_EVERY = 100;

/**
 * Grants, refunds, calls, replays, changes of prices and of credit lines, deaths between any two statements, the
 * same deed by several at once: after each step every account is what the model says, and every hundred steps all of
 * the books are. A process that dies does not know the outcome of its operation, and retries it some steps later.
 */
export function booksSimulation(
  engine: string,
  given: () => Database,
  { seed, steps, atOnce, timeoutMs }: SimulationOptions,
): void {
  test(
    `G-33 ${steps} simulated steps on ${engine}, up to ${atOnce} at once, leave the books that they ought to`,
    async () => {
      const world = await createWorld(given(), seed);
      const { random, model, unsure } = world;
      for (let step = 0; step < steps; step += 1) {
        await world.change();
        const count = 1 + random.below(atOnce);
        const deeds = Array.from({ length: count }, () => world.draw());
        // The same deed by two at once, now and then.
        if (count > 1 && random.below(2) === 0) deeds.push(deeds[0] as Deed);
        await Promise.all(deeds.map((deed) => world.perform(deed)));
        const levels = await given().query<{ id: string; balance: bigint; version: bigint }>(
          'select id, balance_micro as balance, version from credit_accounts where id = any($1::uuid[])',
          [[...model.accounts.keys()]],
        );
        for (const { id, balance, version } of levels) {
          const account = model.accounts.get(id);
          expect<unknown>([step, id, balance, version]).toEqual([
            step,
            id,
            account?.balanceMicro,
            account?.version,
          ]);
        }
        if (step % WHOLE_EVERY === WHOLE_EVERY - 1) await compareWhole(given(), model);
      }
      for (const deed of unsure.splice(0)) await world.perform(deed, false);
      await compareWhole(given(), model);
      const { lines } = await typedCommand({ database: given() }, auditCommand);
      expect(lines).toEqual([expect.stringContaining('the books balance')]);
      expect(model.charges.size).toBeGreaterThan(steps);
    },
    timeoutMs,
  );
}

async function createWorld(database: Database, seed: number) {
  const random = createSeededRandom(seed);
  const { newId } = createSystemSecrets();
  const companies = Array.from({ length: 5 }, newId);
  const keyOf = new Map(companies.map((id) => [id, newId()]));
  for (const id of companies) await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
  const first = await database.query<PriceVersion & { alias: string }>(
    `select id, alias, prompt_micro as "promptMicro", cached_micro as "cachedMicro",
       completion_micro as "completionMicro", 0 as "inForceFromMs" from model_prices where in_force_from < '2000-01-01'`,
  );
  const model = createModelBooks(companies, new Map(first.map((price) => [price.alias, [price]])));
  const unsure: Deed[] = [];
  const oldCalls: FinishedCall[] = [];
  const oldPostings: Posting[] = [];
  let nowMs = Date.UTC(2026, 0, 20);

  function drawCall(): FinishedCall {
    if (oldCalls.length > 0 && random.below(8) === 0) return random.pick(oldCalls);
    const companyId = random.pick(companies);
    const hasKey = random.below(4) > 0;
    const promptTokens = random.below(5_000);
    const call = finishedCall(companyId, {
      keyId: hasKey ? (keyOf.get(companyId) ?? null) : null,
      monthlyLimitMicro: hasKey ? 1_000_000n : null,
      alias: `svc/${random.pick(MODELS)}`,
      outcome: random.below(6) === 0 ? 'FAILED' : 'SUCCEEDED',
      tokens:
        random.below(10) === 0
          ? null
          : {
              promptTokens,
              cachedTokens: random.below(promptTokens + 1),
              completionTokens: random.below(900),
            },
      startedAtMs: nowMs - random.below(HOUR_MS),
    });
    oldCalls.push(call);
    return call;
  }
  function chargeOf(calls: readonly FinishedCall[]): Deed {
    return {
      run: (used) => chargeCalls(used, calls),
      onModel: (books) => books.charge(calls),
      statements: 1,
    };
  }
  function postingOf(posting: Posting): Deed {
    return {
      run: (used) => used.transaction((transaction) => postTransaction(transaction, posting)),
      onModel: (books) => books.post(posting),
      statements: 5,
    };
  }
  function drawPosting(): Posting {
    if (oldPostings.length > 0 && random.below(4) === 0) {
      const old = random.pick(oldPostings);
      const source = `${old.sourceKind} ${old.sourceId}`;
      // To another account only where it is surely posted: of two concurrent ones the order is unknown.
      const isPosted = model.accounts.get(old.accountId)?.posted.has(source) === true;
      return isPosted && random.below(2) === 0 ? { ...old, accountId: random.pick(companies) } : old;
    }
    const isRefund = random.below(3) === 0;
    const amount = BigInt(1 + random.below(5_000_000));
    const posting: Posting = {
      accountId: random.pick(companies),
      type: isRefund ? 'REFUND' : 'PACK_PURCHASE',
      amountMicro: isRefund ? -amount : amount,
      contra: 'sales',
      sourceKind: 'simulated',
      sourceId: newId(),
    };
    oldPostings.push(posting);
    return posting;
  }

  /** From the next hour on, before which every call so far has begun. */
  async function changePrice(): Promise<void> {
    const name = random.pick(MODELS);
    nowMs += HOUR_MS;
    const micro = () => BigInt(random.below(9_000_000));
    const price = { id: newId(), promptMicro: micro(), cachedMicro: micro(), completionMicro: micro() };
    await database.query(
      `insert into model_prices (id, alias, prompt_micro, cached_micro, completion_micro, in_force_from)
       values ($1, $2, $3, $4, $5, $6)`,
      [price.id, name, price.promptMicro, price.cachedMicro, price.completionMicro, new Date(nowMs)],
    );
    model.setPrice(name, { ...price, inForceFromMs: nowMs });
    nowMs += HOUR_MS + 1;
  }
  async function changeLine(): Promise<void> {
    const id = random.pick(companies);
    const line = BigInt(random.below(1_000));
    const { outcome } = await database.transaction((transaction) =>
      setCompanyBilling(transaction, id, 'POSTPAID', line),
    );
    if (outcome === 'changed') model.changeLine(id);
  }

  return {
    random,
    model,
    unsure,
    draw(): Deed {
      if (unsure.length > 0 && random.below(3) === 0) return unsure.shift() as Deed;
      if (random.below(3) === 0) return postingOf(drawPosting());
      return chargeOf(Array.from({ length: 1 + random.below(12) }, drawCall));
    },
    /** Between steps, so that every number is drawn in the same order in every run. */
    async change(): Promise<void> {
      if (random.below(40) === 0) await changePrice();
      if (random.below(40) === 0) await changeLine();
    },
    /** Dies at some point, one time in five. */
    async perform(deed: Deed, mayDie = true): Promise<void> {
      const dies = mayDie && random.below(5) === 0;
      const at = dies ? random.below(deed.statements) : -1;
      const crashing = crashingDatabase(database, { at, when: random.pick(['before', 'after']) });
      try {
        await deed.run(crashing.database);
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
        unsure.push(deed);
      }
      if (crashing.hasCommitted()) deed.onModel(model);
    },
  };
}

/** Every row of the books of these accounts is in the model, and the other way round. */
async function compareWhole(database: Database, model: ModelBooks): Promise<void> {
  const ids = [...model.accounts.keys()];
  const posted = await database.query<{ account: string; source: string; amount: bigint }>(
    `select account_id as account, source_kind || ' ' || source_id as source, amount_micro as amount
     from credit_transactions where account_id = any($1::uuid[])`,
    [ids],
  );
  for (const [id, account] of model.accounts) {
    const own = posted
      .filter((row) => row.account === id)
      .map(({ source, amount }) => [source, amount] as const);
    expect(new Map(own)).toEqual(account.posted);
    expect(own).toHaveLength(account.posted.size);
  }
  const calls = await database.query<{ id: string; charge: bigint }>(
    'select id, charge_micro as charge from calls where company_id = any($1::uuid[])',
    [ids],
  );
  expect(new Map(calls.map(({ id, charge }) => [id, charge]))).toEqual(new Map(model.charges));
  await compareTotals(database, model, ids);
}

async function compareTotals(database: Database, model: ModelBooks, ids: readonly string[]): Promise<void> {
  const days = await database.query<{ place: string; calls: bigint; failures: bigint; charge: bigint }>(
    `select company_id || ' ' || case key_id when '00000000-0000-0000-0000-000000000000' then 'all'
       else key_id::text end || ' ' || day || ' ' || alias as place, calls, failures, charge_micro as charge
     from usage_days where company_id = any($1::uuid[])`,
    [ids],
  );
  expect(new Map(days.map(({ place, ...sums }) => [place, sums]))).toEqual(new Map(model.usage));
  const keys = [...new Set([...model.spending.keys()].map((place) => place.split(' ')[0] ?? ''))];
  const months = await database.query<{ place: string; charge: bigint }>(
    `select key_id || ' ' || to_char(month, 'YYYY-MM') as place, charge_micro as charge from key_months
     where key_id = any($1::uuid[])`,
    [keys],
  );
  expect(new Map(months.map(({ place, charge }) => [place, charge]))).toEqual(new Map(model.spending));
}
