import { describe, expect, test } from 'bun:test';
import { openTestDatabase } from '../../../test/doubles/test-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../../domain/accounts/company.ts';
import { authenticate } from '../../domain/accounts/user.ts';
import { readLevel } from '../../domain/credits/ledger/credit-account.ts';
import { listTransactions } from '../../domain/credits/ledger/ledger.ts';
import { ensureDemoWorld, generateDemoWorld, isDemoFileValid } from './demo-world.ts';

const secrets = createSystemSecrets();
const seed = 'a'.repeat(64);

describe('the demo world', () => {
  test('is created on an empty database, found afterwards; its users can log in, and its keys have their scopes', async () => {
    const database = await openTestDatabase();
    const world = generateDemoWorld(seed);
    expect(await isDemoFileValid(database, null)).toBe(false);
    expect(await isDemoFileValid(database, seed)).toBe(true);
    expect(await ensureDemoWorld(database, secrets, seed, 1_000)).toBe('made');
    expect(await isDemoFileValid(database, seed)).toBe(true);
    expect(await ensureDemoWorld(database, secrets, seed, 1_000)).toBe('found');
    const logIn = ({ email, password }: { email: string; password: string }) =>
      authenticate(database, secrets, email, password);
    expect(await logIn(world.superAdmin)).toMatchObject({ isSuperAdmin: true, companyId: null });
    expect(await logIn(world.companyAdmin)).toMatchObject({
      isSuperAdmin: false,
      role: 'COMPANY_ADMIN',
      companyId: world.companyId,
    });
    const scopes = async (rawKey: string) => {
      const rows = await database.query<{ scopes: string[] }>(
        'select scopes from api_keys where sha256 = $1',
        [secrets.sha256(rawKey)],
      );
      return rows[0]?.scopes;
    };
    const defaults = ['inference:chat', 'inference:parse', 'usage:read'];
    expect(await scopes(world.apiKey)).toEqual(defaults);
    expect(await scopes(world.fullKey)).toEqual([...defaults, 'jobs:read']);
    await database.close();
  });

  test('P-19 its company is granted credits once, whatever later starts are set to; zero is none', async () => {
    const database = await openTestDatabase();
    const { companyId } = generateDemoWorld(seed);
    const balance = async () => (await readLevel(database, companyId))?.balanceMicro;
    await ensureDemoWorld(database, secrets, seed, 0);
    expect(await balance()).toBe(0n);
    await ensureDemoWorld(database, secrets, seed, 1_000);
    await ensureDemoWorld(database, secrets, seed, 2_000);
    expect(await balance()).toBe(1_000_000_000n);
    expect(await listTransactions(database, companyId, { first: 5 })).toMatchObject([
      { type: 'SUBSCRIPTION_GRANT', contra: 'grants', sourceKind: 'demo-world' },
    ]);
    await database.close();
  });

  test('never changes a database with other companies, or with the world of another seed: its log-ins are not there', async () => {
    const database = await openTestDatabase();
    await ensureDemoWorld(database, secrets, 'c'.repeat(64), 1_000);
    expect(await ensureDemoWorld(database, secrets, seed, 1_000)).toBe('another-world');
    expect(await isDemoFileValid(database, seed)).toBe(false);
    await database.close();
    const other = await openTestDatabase();
    await addCompany(other, { id: secrets.newId(), name: 'Real', billingMode: 'PREPAID' });
    expect(await ensureDemoWorld(other, secrets, seed, 1_000)).toBe('another-world');
    expect(await isDemoFileValid(other, seed)).toBe(false);
    expect(await other.query('select 1 from users')).toEqual([]);
    await other.close();
  });
});
