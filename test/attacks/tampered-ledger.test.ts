import { beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { auditCommand } from '../../src/command-line/credit-commands.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import { postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import { sealOldTransactions } from '../../src/domain/credits/ledger/ledger-seals.ts';
import { addLedgerDigests } from '../../src/domain/reconciliation/proofs/ledger-digests.ts';
import { DIGEST_OF_SPAN } from '../../src/domain/reconciliation/proofs/ledger-spans.ts';
import type { Database } from '../../src/ports/database.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { typedCommand } from '../doubles/typed-command.ts';
import { useDatabase } from '../setup/use-database.ts';

const database = useDatabase();
const { newId } = createSystemSecrets();
/** One whose transactions were sealed as they were posted, and one whose are older than seals. */
const [live, old, other] = [newId(), newId(), newId()].toSorted() as [string, string, string];

const post = (accountId: string, amountMicro: bigint, sourceId = newId()) =>
  database.transaction((transaction) =>
    postTransaction(transaction, {
      ...{ accountId, type: 'ADJUSTMENT', amountMicro, contra: 'adjustments' },
      ...{ sourceKind: 'test', sourceId, reason: 'agreed' },
    }),
  );

/** Version 1 alone, 2 to 4 together, 5 alone, 6 alone, 7 and 8 together. */
async function fill(accountId: string): Promise<void> {
  const calls = (count: number) => Array.from({ length: count }, () => finishedCall(accountId));
  await post(accountId, 1_000n);
  await chargeCalls(database, calls(3));
  await chargeCalls(database, calls(1));
  await post(accountId, -5n);
  await chargeCalls(database, [...calls(1), finishedCall(other), ...calls(1)]);
}

beforeAll(async () => {
  for (const id of [live, old, other])
    await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
  await fill(live);
  await fill(old);
  // As a migration found them that came later.
  await asSuperuser(database, async (inside) => {
    await inside.query(
      'update credit_transactions set seal = null, seal_version = null where account_id = $1',
      [old],
    );
    await inside.query('update credit_accounts set seals_from = version, last_seal = null where id = $1', [
      old,
    ]);
  });
  expect(await sealOldTransactions({ database })).toBe(1);
  expect(await sealOldTransactions({ database })).toBe(0);
  await chargeCalls(database, [finishedCall(old), finishedCall(old)]);
  await post(old, 3n);
});

async function asSuperuser(on: Database, work: (inside: Database) => Promise<void>): Promise<void> {
  await on.transaction(async (transaction) => {
    const tables = ['credit_transactions', 'old_ledger_seals'];
    for (const table of tables) await transaction.query(`alter table ${table} disable trigger all`);
    await work({ ...on, ...transaction, transaction: (own) => own(transaction) });
    for (const table of tables) await transaction.query(`alter table ${table} enable trigger all`);
  });
}

/** What the audit says after these statements, which are undone. */
async function auditAfter(statements: readonly string[], ...words: string[]): Promise<string> {
  const undone = new Error('undone');
  let report = '';
  const attack = asSuperuser(database, async (inside) => {
    for (const statement of statements) await inside.query(statement);
    report = (await typedCommand({ database: inside }, auditCommand, ...words)).lines.join('\n');
    throw undone;
  });
  await attack.catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  return report;
}

const of = (account: string, version: number) => `account_id = '${account}' and version = ${version}`;
/** The balances made to fit again, as a careful attacker would. */
const rebalanced = (account: string) => [
  `update credit_transactions as posted set balance_after_micro = sum from (
     select version, sum(amount_micro) over (order by version) as sum from credit_transactions
     where account_id = '${account}') as summed where account_id = '${account}' and posted.version = summed.version`,
  `update credit_accounts set balance_micro = (select sum(amount_micro) from credit_transactions
     where account_id = '${account}') where id = '${account}'`,
];
const broken = (account: string, first: number, last: number) =>
  `transactions ${first} to ${last} of account ${account} are not as they were sealed`;

const inserted = (account: string, version: number) =>
  `insert into credit_transactions (account_id, version, type, amount_micro, balance_after_micro, contra, source_kind,
     source_id, seal_version, seal)
   select account_id, ${version}, type, 7, 0, contra, source_kind, 'forged', seal_version, null
   from credit_transactions where ${of(account, 3)}`;
const swapped = (account: string, one: number, two: number) => [
  `update credit_transactions set version = -1 where ${of(account, one)}`,
  `update credit_transactions set version = ${one} where ${of(account, two)}`,
  `update credit_transactions set version = ${two} where ${of(account, -1)}`,
];

describe('a ledger changed by an attacker with all rights on the database', () => {
  test('is correct before that, in every chain', async () => {
    expect(await auditAfter([])).toMatch(/^the books balance/);
  });

  test.each([
    ['an amount in a group', [`update credit_transactions set amount_micro = -1 where ${of(live, 3)}`], 2, 4],
    ['a source', [`update credit_transactions set source_id = 'x' where ${of(live, 8)}`], 7, 8],
    ['a reason', [`update credit_transactions set reason = null where ${of(live, 6)}`], 6, 6],
    ['a time', [`update credit_transactions set created_at = '2020-01-01Z' where ${of(live, 5)}`], 5, 5],
    ['a removed row of a group', [`delete from credit_transactions where ${of(live, 2)}`], 3, 4],
    ['a removed single row', [`delete from credit_transactions where ${of(live, 5)}`], 6, 6],
    ['two rows of a group that changed places', swapped(live, 2, 3), 2, 4],
    ['a seal', [`update credit_transactions set seal = sha256('x') where ${of(live, 4)}`], 2, 4],
  ] as const)('is found by its seals: %s', async (_, attack, first, last) => {
    const report = await auditAfter([...attack, ...rebalanced(live)]);
    expect(report).toContain(broken(live, first, last));
    expect(report.split('\n').filter((line) => line.includes('as they were sealed'))).toHaveLength(1);
  });

  test('is detected where rows were inserted, with a seal version of others or without any', async () => {
    const moved = `update credit_transactions set version = version + 10 where account_id = '${live}' and version > 4`;
    expect(await auditAfter([moved, inserted(live, 5), ...rebalanced(live)])).toContain(`of account ${live}`);
    const added = [
      inserted(live, 20),
      `update credit_transactions set seal_version = null where ${of(live, 20)}`,
    ];
    expect(await auditAfter([...added, ...rebalanced(live)])).toContain(
      `transaction 20 of account ${live} has no seal`,
    );
  });

  test('is detected where its end was removed', async () => {
    const cut = `delete from credit_transactions where account_id = '${live}' and version > 6`;
    expect(await auditAfter([cut, ...rebalanced(live)])).toContain(
      `account ${live} notes another last seal than that of its transaction 6`,
    );
  });

  test('is detected in transactions from before there were seals, and in those after them', async () => {
    const change = `update credit_transactions set amount_micro = amount_micro - 1 where ${of(old, 3)}`;
    expect(await auditAfter([change, ...rebalanced(old)])).toContain(broken(old, 1, 8));
    const later = `update credit_transactions set amount_micro = amount_micro - 1 where ${of(old, 9)}`;
    expect(await auditAfter([later, ...rebalanced(old)])).toContain(broken(old, 9, 10));
    const cut = `delete from old_ledger_seals where account_id = '${old}'`;
    expect(await auditAfter([cut])).toContain(`account ${old} has old seals up to transaction 8`);
  });

  test('is detected by heads stored elsewhere, also where every seal was computed again', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'heads-'));
    try {
      const file = join(folder, 'heads');
      const { lines } = await typedCommand({ database }, auditCommand, '--head');
      expect(lines).toHaveLength(4);
      await Bun.write(file, `${lines.join('\n')}\n`);
      const sound = 'the ledger goes on from the stored heads of 3 accounts';
      expect(await auditAfter([], '--since-head', file)).toBe(sound);
      await post(live, 4n);
      expect(await auditAfter([], '--since-head', file)).toBe(sound);
      const anew = [
        `update credit_transactions set amount_micro = 2000 where ${of(live, 1)}`,
        ...rebalanced(live),
        `update credit_transactions set seal = sha256(seal) where account_id = '${live}'`,
      ];
      expect(await auditAfter(anew, '--since-head', file)).toContain(
        `transaction 8 of account ${live} had the seal`,
      );
      const gone = [`delete from credit_transactions where account_id = '${live}' and version > 5`];
      expect(await auditAfter(gone, '--since-head', file)).toContain('it has none now');
      await Bun.write(file, `${lines.slice(1).join('\n')}\n`);
      expect(await auditAfter([], '--since-head', file)).toContain('not as --head printed it');
      expect(await auditAfter([], '--since-head', 'heads')).toContain('give the whole path');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('is detected by its seals, without the digests, where it was changed together with a digest', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'heads-'));
    try {
      const file = join(folder, 'heads');
      const { lines } = await typedCommand({ database }, auditCommand, '--head');
      await Bun.write(file, `${lines.join('\n')}\n`);
      const parts = { database, clock: createManualClock(Date.now()), log: createSilentLog() };
      expect(await addLedgerDigests(parts, { span: 4 })).toBeGreaterThan(2);
      expect(await addLedgerDigests(parts, { span: 4 })).toBe(0);
      expect(await auditAfter([])).toMatch(/^the books balance/);
      const changed = [`update credit_transactions set reason = 'forged' where ${of(live, 6)}`];
      expect(await auditAfter(changed)).toContain(broken(live, 6, 6));
      const withDigest = [
        ...changed,
        `update ledger_digests as digest set digest = (select ${DIGEST_OF_SPAN} from (
           select digest.account_id, after_version as after, version as upto) as span)`,
      ];
      expect(await auditAfter(withDigest)).toMatch(/^the books balance/);
      expect(await auditAfter(withDigest, '--exact')).toContain(broken(live, 6, 6));
      expect(await auditAfter(withDigest, '--since-head', file)).toContain(broken(live, 6, 6));
    } finally {
      await rm(folder, { recursive: true });
      await database.query('delete from ledger_digests');
    }
  });

  test('a source that two accounts post at once breaks no chain', async () => {
    const source = newId();
    await Promise.all([live, old, other].map((id) => post(id, 2n, source)));
    expect(await auditAfter([])).toMatch(/^the books balance/);
  });
});
