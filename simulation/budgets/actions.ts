import { resumeCompany, suspendCompany } from '../../src/domain/accounts/suspension.ts';
import {
  deleteBudget,
  listBudgetsWithSpending,
  setBudget,
} from '../../src/domain/credits/budgets/budgets.ts';
import {
  announceCompany,
  publishLevel,
  setCompanyBilling,
} from '../../src/domain/credits/ledger/credit-account.ts';
import { postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import {
  openUserAccount,
  publishMoved,
  publishUserLevel,
  transferToUser,
} from '../../src/domain/credits/ledger/user-account.ts';
import { changeKey, revokeKey, rotateKey } from '../../src/domain/keys/key-lifecycle.ts';
import { mintKey } from '../../src/domain/keys/mint-key.ts';
import type { SeededRandom } from '../../test/doubles/seeded-random.ts';
import type { BudgetWorld, BudgetWorldOptions } from './budget-world.ts';
import { openCallers } from './callers.ts';
import { COMPANY, type ModelKey, MoneyModel, monthOf, type Scope } from './model.ts';

const PROJECTS = ['web', 'app', null] as const;
export const END_USERS = ['ada', 'bob', '*', null] as const;
/** About what twenty calls cost. */
const MUCH = 40_000;
/** The longest that a change is not yet in force whose message was lost, or that has none. */
export const IN_FORCE_MS = 1_001;
const DAY_MS = 86_400_000;

export type Actions = Awaited<ReturnType<typeof openActions>>;

/** What clients, admins and operators do, on the world and on the model. Each returns what differs. */
export async function openActions(world: BudgetWorld, random: SeededRandom, options: BudgetWorldOptions) {
  const { database, sharedState, secrets, clock, log, companyId, members } = world;
  const model = new MoneyModel();
  const lines: string[] = [];
  const note = (line: string) => void lines.push(line);
  const rawKeys = new Map<string, string>();
  const callers = openCallers({ world, model, rawKeys, note, options });
  const parts = { database, secrets, clock };

  async function newKey(own: SeededRandom): Promise<void> {
    const payer = own.below(3) === 0 ? own.pick(members) : null;
    const limit = own.below(2) === 0 ? 1 + own.below(MUCH) : null;
    const project = own.pick(PROJECTS);
    const expiresAtMs = own.below(5) === 0 ? world.nowMs() + 600_000 + own.below(40 * DAY_MS) : null;
    const minted = await mintKey(parts, {
      ...{ companyId, name: 'key', createdBy: null, project, payerUserId: payer },
      ...{ requestsPerMinute: 1_000_000, tokensPerMinute: 1_000_000_000 },
      monthlySpendingLimitMicro: limit === null ? null : BigInt(limit),
      expiresAt: expiresAtMs === null ? null : new Date(expiresAtMs),
    });
    if (minted.outcome !== 'minted') throw new Error(`not minted: ${JSON.stringify(minted)}`);
    const { id } = minted.key;
    rawKeys.set(id, minted.rawKey);
    model.keys.push({ id, root: id, payer, limit, project, isRevoked: false, expiresAtMs });
    note(`key ${id} payer ${payer} limit ${limit} project ${project}`);
  }

  async function post(account: string, amount: number): Promise<void> {
    const accountId = account === COMPANY ? companyId : account;
    const posted = await database.transaction((transaction) =>
      postTransaction(transaction, {
        ...{ accountId, type: 'ADJUSTMENT', amountMicro: BigInt(amount), contra: 'adjustments' },
        ...{ sourceKind: 'adjustment', sourceId: secrets.newId() },
      }),
    );
    if (posted.outcome !== 'posted') throw new Error(`not posted: ${posted.outcome}`);
    if (account === COMPANY) await publishLevel(sharedState, posted.level);
    else await publishUserLevel(sharedState, companyId, posted.level);
    model.add(account, amount);
    note(`${account} gets ${amount}`);
  }

  async function changed<T>(work: Promise<T>, what: string): Promise<T> {
    const result = await work;
    await announceCompany(sharedState, companyId);
    await world.idle();
    note(what);
    return result;
  }

  for (const userId of members) {
    await database.transaction((transaction) => openUserAccount(transaction, { userId, companyId }));
    model.balances.set(userId, 0);
  }
  for (let key = 0; key < 4; key += 1) await newKey(random);
  await post(COMPANY, 3 * MUCH);

  return {
    ...{ model, lines, note, isHoldKnown: callers.isHoldKnown },
    seen: callers.seen,
    begin: callers.begin,
    end: callers.end,
    endAll: callers.endAll,
    beginTogether: callers.beginTogether,
    callCached: callers.callCached,

    async changeBudget(own: SeededRandom): Promise<readonly string[]> {
      const scope = own.pick<Scope>(['COMPANY', 'PROJECT', 'KEY', 'END_USER', 'END_USER']);
      const subject = subjectOf(scope, own, model.keys);
      const root = model.keys.find(({ id }) => id === subject)?.root ?? subject;
      const before = await listBudgetsWithSpending(database, companyId, new Date(world.nowMs()));
      const old = before.find((one) => one.scope === scope && one.subject === root);
      if (old !== undefined && own.below(3) === 0) {
        const work = database.transaction((transaction) => deleteBudget(transaction, companyId, old.id));
        await changed(work, `no budget of ${scope} ${root}`);
        model.budgets.delete(`${scope} ${root}`);
        return [];
      }
      // Around what was spent, so that a little more uses it up.
      const spent = model.spentOf(scope, root, monthOf(world.nowMs()));
      const most = own.below(2) === 0 ? spent + own.below(6_000) : own.below(MUCH);
      const isHard = own.below(5) > 0;
      const params = { companyId, scope, subject, monthlyMicro: BigInt(most), isHard, version: null };
      const by = { newId: secrets.newId(), now: new Date(world.nowMs()) };
      const work = database.transaction((transaction) => setBudget(transaction, params, by));
      const set = await changed(work, `budget of ${scope} ${root}: ${most}${isHard ? '' : ' soft'}`);
      if (set.outcome !== 'set') return [`a budget was not set: ${JSON.stringify(set)}`];
      model.setBudget({ scope, subject: root, most, isHard });
      return [];
    },

    async adjust(own: SeededRandom): Promise<readonly string[]> {
      const account = own.pick([COMPANY, COMPANY, ...members]);
      // A refund takes more than is left now and then.
      const amount = own.below(4) === 0 ? -1 - own.below(MUCH) : 1 + own.below(MUCH);
      await post(account, amount);
      return [];
    },

    async transfer(own: SeededRandom): Promise<readonly string[]> {
      const userId = own.pick(members);
      const isBack = own.below(3) === 0;
      const giving = isBack ? userId : COMPANY;
      const movable = model.movable(giving);
      const amount = 1 + own.below(own.below(4) === 0 ? 2 * movable + 2 : Math.max(1, movable));
      const heldMicro = (await world.heldCredits(companyId, isBack ? userId : null)) ?? 0n;
      const transfer = { userId, companyId, amountMicro: BigInt(isBack ? -amount : amount), heldMicro };
      const named = { ...transfer, idempotencyKey: secrets.newId(), reason: 'simulated' };
      const moved = await database.transaction((transaction) => transferToUser(transaction, named));
      const expected = amount <= movable ? 'moved' : 'not-enough';
      note(`${amount} from ${giving}, user ${userId}: ${moved.outcome}`);
      if (moved.outcome !== expected) {
        return [`a transfer of ${amount} of ${movable} of ${giving} was ${moved.outcome}`];
      }
      if (moved.outcome !== 'moved') return [];
      await publishMoved(sharedState, moved, log);
      model.add(giving, -amount);
      model.add(isBack ? COMPANY : userId, amount);
      return [];
    },

    async changeKey(own: SeededRandom): Promise<readonly string[]> {
      const key = own.pick(model.keys);
      const spent = model.spentOf('KEY', key.root, monthOf(world.nowMs()));
      const limit = own.below(4) === 0 ? null : 1 + spent + own.below(own.below(2) === 0 ? 4_000 : MUCH);
      const project = own.below(3) === 0 ? own.pick(PROJECTS) : key.project;
      const monthlySpendingLimitMicro = limit === null ? null : BigInt(limit);
      const changes = { companyId, keyId: key.id, monthlySpendingLimitMicro, project };
      const done = await database.transaction((transaction) => changeKey(transaction, clock, changes));
      note(`key ${key.id} limit ${limit} project ${project}: ${done.outcome}`);
      if (done.outcome !== 'changed') return [];
      key.limit = limit;
      key.project = project;
      await world.pass(IN_FORCE_MS);
      return [];
    },

    async rotateKey(own: SeededRandom): Promise<readonly string[]> {
      if (model.keys.length > 12) return [];
      if (own.below(3) === 0) {
        await newKey(own);
        return [];
      }
      const old = own.pick(model.keys);
      const rotated = await rotateKey(parts, { companyId, keyId: old.id, createdBy: null });
      note(`key ${old.id} is rotated: ${rotated.outcome}`);
      if (rotated.outcome !== 'rotated') return [];
      rawKeys.set(rotated.key.id, rotated.rawKey);
      model.keys.push({ ...old, id: rotated.key.id });
      return [];
    },

    async revokeKey(own: SeededRandom): Promise<readonly string[]> {
      const key = own.pick(model.keys);
      if (model.keys.filter(({ isRevoked }) => !isRevoked).length < 3) return [];
      await revokeKey({ database, sharedState, clock }, { companyId, keyId: key.id });
      await world.idle();
      key.isRevoked = true;
      callers.forgetCached(key.id);
      note(`key ${key.id} is revoked`);
      return [];
    },

    async setBilling(own: SeededRandom): Promise<readonly string[]> {
      const line = own.pick([0, 0, own.below(MUCH), null]);
      const mode = line === 0 ? 'PREPAID' : 'POSTPAID';
      const limit = line === null ? null : BigInt(line);
      const set = await database.transaction((transaction) =>
        setCompanyBilling(transaction, companyId, mode, limit),
      );
      if (!('level' in set)) return [`billing was not set: ${set.outcome}`];
      await publishLevel(sharedState, set.level);
      await world.idle();
      model.line = line;
      note(`${mode}, line ${line}`);
      return [];
    },

    async suspend(own: SeededRandom): Promise<readonly string[]> {
      const isSuspended = !model.isSuspended && own.below(2) === 0;
      const outbox = { send: async () => ({ outcome: 'sent' }) };
      const change = { companyId, reason: 'simulated', now: new Date(world.nowMs()) };
      const work = database.transaction((transaction) =>
        isSuspended
          ? suspendCompany(transaction, outbox, change)
          : resumeCompany(transaction, outbox, change),
      );
      await changed(work, isSuspended ? 'suspended' : 'resumed');
      model.isSuspended = isSuspended;
      return [];
    },

    async pass(own: SeededRandom): Promise<readonly string[]> {
      await world.pass(1 + own.below(own.below(4) === 0 ? 100_000 : 8_000));
      return [];
    },

    /** To seconds before the end of the month, or else into the next days. */
    async leap(): Promise<readonly string[]> {
      const now = new Date(world.nowMs());
      const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - 3_000;
      await world.idle();
      world.leap(end > world.nowMs() ? end - world.nowMs() : 5_000);
      await world.idle();
      note(`it is ${new Date(world.nowMs()).toISOString()}`);
      return [];
    },

    async loseState(): Promise<readonly string[]> {
      // Within one process nothing is lost without the process.
      if (options.isDeferred) return [];
      await world.idle();
      await sharedState.lose();
      callers.loseHolds();
      note('shared state is lost');
      return [];
    },
  };
}

function subjectOf(scope: Scope, random: SeededRandom, keys: readonly ModelKey[]): string {
  switch (scope) {
    case 'COMPANY':
      return '';
    case 'PROJECT':
      return random.pick(['web', 'app']);
    case 'KEY':
      return random.pick(keys).id;
    case 'END_USER':
      return random.pick(['ada', 'bob', '*']);
  }
}
