import { beforeAll, describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import { addUpUsageMonths } from '../../src/domain/calls/usage/usage-months.ts';
import { runCheck } from '../../src/domain/reconciliation/audit-check.ts';
import { addLedgerDigests } from '../../src/domain/reconciliation/proofs/ledger-digests.ts';
import { PROOFS } from '../../src/domain/reconciliation/proofs/proofs.ts';
import { sealsCheck } from '../../src/domain/reconciliation/seal-checks.ts';
import type { Database, Transaction } from '../../src/ports/database.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { postTo } from '../doubles/test-company.ts';

const { newId } = createSystemSecrets();
const [first, second] = [newId(), newId()].toSorted() as [string, string];
const [keyId, otherKeyId] = [newId(), newId()];
const ledger = (version: number) => `account_id = '${first}' and version = ${version}`;
const swapped = (one: number, two: number) => `
  update credit_transactions set version = -1 where ${ledger(one)};
  update credit_transactions set version = ${one} where ${ledger(two)};
  update credit_transactions set version = ${two} where ${ledger(-1)}`;
/** Balances made to fit again. */
const rebalanced = `
  update credit_transactions as posted set balance_after_micro = sum from (
    select version, sum(amount_micro) over (order by version) as sum from credit_transactions where account_id = '${first}') as summed
  where account_id = '${first}' and posted.version = summed.version;
  update credit_accounts set balance_micro = (select sum(amount_micro) from credit_transactions where account_id = '${first}')
  where id = '${first}'`;
const inserted = (table: string, changes: Readonly<Record<string, string>>) => `
  insert into ${table} select (jsonb_populate_record(given, '${JSON.stringify(changes)}')).* from ${table} as given limit 1`;

const withheld = (excessMicro: string) => `
  insert into withheld_usage (call_id, company_id, request_id, alias, day, prompt_tokens, completion_tokens, prompt_bound,
    completion_bound, charged_micro, excess_micro)
  select id, company_id, request_id, 'chat-default', '2026-06-01', 1, 1, 1, 1, 1, ${excessMicro} from calls where charge_micro > 0`;

/** What someone with all rights on the database does. Version 1 is alone, 2 to 4 are sealed together, 5 and 6 are alone. */
const DAMAGE: Readonly<Record<string, string>> = {
  'an amount alone': `update credit_transactions set amount_micro = amount_micro + 1 where ${ledger(1)}`,
  'an amount alone, balances fit': `update credit_transactions set amount_micro = amount_micro + 1 where ${ledger(5)}; ${rebalanced}`,
  'an amount in a group, balances fit': `update credit_transactions set amount_micro = amount_micro + 1 where ${ledger(3)}; ${rebalanced}`,
  'two amounts that cancel out': `update credit_transactions set amount_micro = amount_micro + 1 where ${ledger(2)};
    update credit_transactions set amount_micro = amount_micro - 1 where ${ledger(5)}; ${rebalanced}`,
  'a removed row': `delete from credit_transactions where ${ledger(5)}; ${rebalanced}`,
  'a removed row of a group': `delete from credit_transactions where ${ledger(3)}; ${rebalanced}`,
  'a removed last row of a group': `delete from credit_transactions where ${ledger(4)}; ${rebalanced}`,
  'a removed end': `delete from credit_transactions where account_id = '${first}' and version > 5; ${rebalanced}`,
  'all rows removed': `delete from credit_transactions where account_id = '${first}'`,
  'a seal': `update credit_transactions set seal = sha256('x') where ${ledger(1)}`,
  'a seal of a group': `update credit_transactions set seal = sha256('x') where ${ledger(4)}`,
  'no seal': `update credit_transactions set seal = null, seal_version = null where ${ledger(6)}`,
  'another group': `update credit_transactions set seal_version = 6 where ${ledger(5)}`,
  'swapped single rows': `${swapped(5, 6)}; ${rebalanced}`,
  'swapped rows of a group': `${swapped(2, 3)}; ${rebalanced}`,
  'a row that left its group': `${swapped(4, 5)}; ${rebalanced}`,
  'a time': `update credit_transactions set created_at = created_at + interval '1 microsecond' where ${ledger(6)}`,
  'a balance': `update credit_accounts set balance_micro = balance_micro + 1 where id = '${first}'`,
  'a version': `update credit_accounts set version = 2 where id = '${first}'`,
  'the last seal of an account': `update credit_accounts set last_seal = null where id = '${first}'`,
  'a type that no total counts': `alter table credit_transactions drop constraint credit_transactions_check;
    update credit_transactions set type = 'GIFT' where ${ledger(6)}`,
  'a contra account': `update credit_transactions set contra = 'grants' where ${ledger(6)}`,
  'a contra account that no total counts': `alter table credit_transactions drop constraint credit_transactions_check;
    update credit_transactions set contra = 'gifts' where ${ledger(6)}`,
  'rows without an account': `delete from credit_accounts where id = '${first}'`,
  'amounts past all bounds': `update credit_transactions set amount_micro = 4611686018427387904 where ${ledger(1)}`,
  'a charge': `update calls set charge_micro = charge_micro + 1 where company_id = '${second}'`,
  'a price that there is not': `update calls set price_id = '${newId()}' where company_id = '${second}' and price_id is not null`,
  'a price of another alias': `update calls set price_id = (select id from model_prices where alias <> (
      select alias from model_prices where id = calls.price_id) limit 1) where price_id is not null`,
  'a price of another time': `update model_prices set in_force_from = now() + interval '1 day';
    insert into model_prices select (jsonb_populate_record(price, jsonb_build_object('id', gen_random_uuid(), 'in_force_from', '2000-01-01'))).*
    from model_prices as price`,
  'a higher price': 'update model_prices set prompt_micro = prompt_micro + 1000000',
  'a surcharge without tokens': `update calls set surcharge_micro = 0 where outcome = 'FAILED'`,
  'a part that was withheld of a call that was charged in full': withheld('1'),
  'a call that another model served': `update calls set served_by = 'svc/other' where company_id = '${second}'`,
  'a payer of another company': `update calls set payer_id = '${first}' where company_id = '${second}' and outcome = 'FAILED'`,
  'another tag of a call': `update calls set tags = array['a', 'c'] where tags is not null`,
  'one tag less of a call': `update calls set tags = array['a'] where tags is not null`,
  'more tags than a call can have': `update calls set tags = array['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'] where tags is not null`,
  'a removed call': `delete from calls where company_id = '${second}' and end_user = 'ada'`,
  'a call of another company': `update calls set company_id = '${first}' where company_id = '${second}' and end_user = 'ada'`,
  'a transaction for no call': `update credit_transactions set source_id = '${newId()}' where ${ledger(2)}`,
  'usage that is for nothing': `update credit_transactions set type = 'USAGE' where ${ledger(6)}`,
  'tokens of a day': `update usage_days set prompt_tokens = prompt_tokens + 1 where company_id = '${first}'`,
  'tokens moved between days': `update usage_days set day = day + 1 where company_id = '${first}' and key_id = '${keyId}'`,
  'tokens moved between columns': `update usage_days set prompt_tokens = prompt_tokens + 1, completion_tokens = completion_tokens - 1`,
  'a day without a call': inserted('usage_days', {
    day: '2026-06-01',
    calls: '0',
    failures: '0',
    prompt_tokens: '0',
    cached_tokens: '0',
    completion_tokens: '0',
    charge_micro: '0',
  }),
  'a removed day': `delete from usage_days where company_id = '${second}'`,
  'a day of another key': `update usage_days set key_id = '${newId()}' where key_id = '${otherKeyId}'`,
  'a cost': `update cost_days set cost_micro = cost_micro + 1`,
  'a cost of another target': `update cost_days set target_id = 'other'`,
  'an empty cost': inserted('cost_days', {
    target_id: 'other',
    calls: '0',
    charge_micro: '0',
    cost_micro: '0',
  }),
  'an end user of a day': `update usage_subject_days set subject = 'eve' where kind = 'END_USER' and subject = 'ada'`,
  'a tag of a day': `update usage_subject_days set calls = calls + 1 where kind = 'TAG'`,
  'a day of names that is not known': `delete from usage_subject_counts where kind = 'PROJECT'`,
  'a removed name': `delete from usage_subject_days where kind = 'PROJECT'`,
  'spending of an end user': `update subject_months set charge_micro = charge_micro + 1 where subject = 'ada'`,
  'spending of an unknown user': inserted('subject_months', { subject: 'eve' }),
  'spending of a key': `update key_months set charge_micro = charge_micro - 1`,
  'a month by model': `update usage_months set calls = calls + 1 where alias <> ''`,
  'a month by day': `update usage_months set failures = failures + 1 where alias = ''`,
  'a month with another day': `update usage_months set day = day + 1 where alias <> ''`,
  'a removed month': `delete from usage_months where company_id = '${second}'`,
  'an empty month': inserted('usage_months', {
    alias: 'svc/other',
    calls: '0',
    failures: '0',
    prompt_tokens: '0',
    cached_tokens: '0',
    completion_tokens: '0',
    charge_micro: '0',
  }),
  'a month of a name': `update usage_subject_months set charge_micro = charge_micro + 1 where alias = '*'`,
  'a month of another name': `update usage_subject_months set subject = 'eve' where subject = 'ada'`,
};

/** Damages of the ledger are found with digests as without: of all transactions, or of those up to version 4. */
const LEDGER_DAMAGE = Object.entries(DAMAGE).filter(([, damage]) => damage.includes('credit_'));
const DIGESTS = { all: 2, some: 4 };
/** Those that read digests; the others find the same without them. */
const WITH_DIGESTS = PROOFS.filter(({ checks }) => checks.includes(sealsCheck));

/** Whether the passes that show several checks at once ever miss what the checks find. */
export function auditProofsContract(engine: string, given: () => Database): void {
  const post = (accountId: string, amountMicro: bigint) =>
    postTo(given(), accountId, amountMicro, { reason: 'agreed' });

  beforeAll(async () => {
    const database = given();
    for (const id of [first, second])
      await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
    const call = (companyId: string, key: string, changes: object = {}) =>
      finishedCall(companyId, { keyId: key, costMicro: 20, ...changes });
    await post(first, 1_000n);
    await chargeCalls(database, [
      call(first, keyId),
      call(first, keyId, { endUser: 'ada', project: 'web' }),
      call(first, keyId),
    ]);
    await chargeCalls(database, [
      call(first, keyId, { tags: ['a', 'b'], startedAtMs: Date.UTC(2026, 2, 3) }),
    ]);
    await post(first, -5n);
    await post(second, 50n);
    await chargeCalls(database, [
      call(second, otherKeyId, { endUser: 'ada' }),
      call(second, otherKeyId, { outcome: 'FAILED', tokens: null, costMicro: undefined }),
    ]);
    await addUpUsageMonths({
      database,
      clock: createManualClock(Date.UTC(2026, 5, 1)),
      log: createSilentLog(),
    });
  });

  /** What the passes take for sound after some damage, which is undone, and what the checks themselves say of that. */
  async function provedAfter(damage: string, span?: number, proofs = PROOFS) {
    const found = { proved: 0, denied: [] as string[], faults: 0, digests: 0 };
    const undone = new Error('undone');
    const attack = given().transaction(async (transaction) => {
      const inside = insideOf(transaction);
      if (span !== undefined) {
        const parts = { database: inside, clock: createManualClock(Date.now()), log: createSilentLog() };
        found.digests = await addLedgerDigests(parts, { span });
      }
      await transaction.script(`set local session_replication_role = replica; ${damage}`);
      for (const proof of proofs) {
        const proved = await proof.prove(inside);
        found.proved += proved.length;
        for (const check of proof.checks) {
          const { faults } = await runCheck(inside, check);
          if (proved.includes(check)) found.denied.push(...faults);
          else found.faults += faults.length;
        }
      }
      throw undone;
    });
    await attack.catch((error: unknown) => {
      if (error !== undone) throw error;
    });
    return found;
  }

  const insideOf = (transaction: Transaction): Database => ({
    ...given(),
    ...transaction,
    pool: () => ({ size: 1, busy: 0, waiting: 0 }),
    transaction: async (work) => await work(transaction),
  });

  describe(`the passes of the audit on ${engine}`, () => {
    const all = PROOFS.flatMap(({ checks }) => checks).length;
    const ofLedger = WITH_DIGESTS.flatMap(({ checks }) => checks).length;

    test('prove every check on correct books', async () => {
      expect(await provedAfter('select 1')).toMatchObject({ proved: all, denied: [], digests: 0 });
      expect(await provedAfter('select 1', DIGESTS.all)).toMatchObject({
        proved: all,
        denied: [],
        digests: 3,
      });
      expect(await provedAfter('select 1', DIGESTS.some)).toMatchObject({
        proved: all,
        denied: [],
        digests: 1,
      });
    });

    test('prove every check where a digest is wrong or missing and every transaction is right', async () => {
      const changes = [
        `update ledger_digests set digest = sha256('x')`,
        `delete from ledger_digests where after_version < 0`,
        'update ledger_digests set version = 5 where version = 4',
      ];
      for (const change of changes) {
        expect(await provedAfter(change, DIGESTS.all)).toMatchObject({ proved: all, denied: [] });
      }
    });

    test.each(LEDGER_DAMAGE)('prove with digests no check that fails: %s', async (_, damage) => {
      for (const span of Object.values(DIGESTS)) {
        const { proved, denied } = await provedAfter(damage, span, WITH_DIGESTS);
        expect(denied).toEqual([]);
        expect(proved).toBeLessThan(ofLedger);
      }
    });

    test('prove every check for calls whose charge is their tokens less the withheld part', async () => {
      const dearer = 'update model_prices set prompt_micro = prompt_micro + 1000000';
      const sound = `${dearer}; ${withheld('prompt_tokens - cached_tokens')}`;
      expect(await provedAfter(sound)).toMatchObject({ proved: all, denied: [] });
    });

    test('prove every check for summed months next to open ones', async () => {
      const open = `delete from usage_months_done where company_id = '${first}'`;
      expect(await provedAfter(open)).toMatchObject({ proved: all, denied: [] });
      expect((await provedAfter(`${open}; update usage_months set calls = calls + 1`)).proved).toBeLessThan(
        all,
      );
    });

    test.each(Object.entries(DAMAGE))('prove no check that fails: %s', async (_, damage) => {
      const { proved, denied, faults } = await provedAfter(damage);
      expect(denied).toEqual([]);
      expect(proved).toBeLessThan(all);
      expect(faults).toBeGreaterThan(0);
    });
  });
}
