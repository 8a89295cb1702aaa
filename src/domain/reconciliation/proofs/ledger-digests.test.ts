import { beforeAll, describe, expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../../accounts/company.ts';
import { chargeCalls } from '../../calls/settlement/charge-calls.ts';
import { addLedgerDigests } from './ledger-digests.ts';
import { isLedgerSound } from './ledger-proof.ts';

const DAY_MS = 24 * 60 * 60_000;
const database = useDatabase();
const { newId } = createSystemSecrets();
const [busy, quiet] = [newId(), newId()].toSorted() as [string, string];

/** One statement for each call, so that each is sealed alone. */
async function charge(companyId: string, calls: number): Promise<void> {
  for (let n = 0; n < calls; n += 1) await chargeCalls(database, [finishedCall(companyId)]);
}

const errors: unknown[] = [];
const log = { ...createSilentLog(), error: (_: string, context: unknown) => void errors.push(context) };
const add = (now = Date.now()) =>
  addLedgerDigests({ database, clock: createManualClock(now), log }, { span: 10 });

async function spans(): Promise<readonly string[]> {
  const rows = await database.query<{ account: string; after: bigint; version: bigint }>(
    `select account_id as account, greatest(after_version, 0) as after, version from ledger_digests order by 1, 2`,
  );
  const nameOf = (account: string) => (account === busy ? 'busy' : 'quiet');
  return rows.map(({ account, after, version }) => `${nameOf(account)} ${after}-${version}`);
}

beforeAll(async () => {
  for (const id of [busy, quiet]) await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
  await charge(busy, 9);
  await chargeCalls(database, [finishedCall(busy), finishedCall(busy), finishedCall(busy)]);
  await charge(busy, 13);
  await charge(quiet, 3);
});

describe('digests of the ledger', () => {
  test('cover as many transactions as belong together, and those that are sealed with them', async () => {
    expect(await add()).toBe(2);
    expect(await spans()).toEqual(['busy 0-12', 'busy 12-20']);
    expect(await add()).toBe(0);
  });

  test('continue where they ended', async () => {
    await charge(busy, 6);
    expect(await add()).toBe(1);
    expect(await spans()).toEqual(['busy 0-12', 'busy 12-20', 'busy 20-30']);
  });

  test('cover fewer transactions once they are a month old', async () => {
    expect(await add(Date.now() + 30 * DAY_MS)).toBe(0);
    expect(await add(Date.now() + 32 * DAY_MS)).toBe(2);
    expect(await spans()).toEqual(['busy 0-12', 'busy 12-20', 'busy 20-30', 'busy 30-31', 'quiet 0-3']);
    expect(await isLedgerSound(database)).toBe(true);
  });

  test('end before an invalid transaction, which is logged, and others continue', async () => {
    await charge(busy, 20);
    await charge(quiet, 10);
    await database.script(`set session_replication_role = replica;
      update credit_transactions set reason = 'forged' where account_id = '${busy}' and version = 45;
      set session_replication_role = origin`);
    expect(await add()).toBe(2);
    expect((await spans()).slice(4)).toEqual(['busy 31-41', 'quiet 0-3', 'quiet 3-13']);
    expect(errors).toEqual([{ accountId: busy }]);
    expect(await isLedgerSound(database)).toBe(false);
  });
});
