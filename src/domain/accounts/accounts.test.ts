import { describe, expect, test } from 'bun:test';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { addCompany, findCompany, hasCompanies, listCompanies } from './company.ts';
import { addUser, authenticate, findUserByEmail, type NewUser } from './user.ts';

const secrets = createSystemSecrets();
const company = { id: secrets.newId(), name: 'Acme', billingMode: 'PREPAID' } as const;
const database = useDatabase();

function person(changes: Partial<NewUser>): NewUser {
  const base = {
    companyId: company.id,
    password: 'correct horse',
    role: 'MEMBER',
    isSuperAdmin: false,
  } as const;
  return { ...base, id: secrets.newId(), email: 'someone@acme.example', ...changes };
}

describe('accounts', () => {
  test('a company is added once and found unchanged', async () => {
    expect(await hasCompanies(database)).toBe(false);
    await addCompany(database, company);
    await addCompany(database, { ...company, name: 'Another name' });
    expect(await findCompany(database, company.id)).toMatchObject({
      name: 'Acme',
      billingMode: 'PREPAID',
      creditLimitMicro: null,
      providerCustomerId: null,
    });
    expect(await hasCompanies(database)).toBe(true);
    expect(await findCompany(database, secrets.newId())).toBeNull();
  });

  test('an address belongs to one user, however its letters are written', async () => {
    const first = person({ email: 'Ada@Acme.example' });
    expect(await addUser(database, secrets, first)).toEqual({ outcome: 'added' });
    expect(await addUser(database, secrets, person({ email: 'ada@acme.EXAMPLE' }))).toEqual({
      outcome: 'email-taken',
    });
    expect(await findUserByEmail(database, ' ADA@acme.example')).toMatchObject({
      id: first.id,
      email: 'Ada@Acme.example',
      role: 'MEMBER',
    });
    expect(await findUserByEmail(database, 'nobody@acme.example')).toBeNull();
  });

  test('a user without a company is a super admin, or does not exist', async () => {
    const lost = addUser(database, secrets, person({ email: 'lost@acme.example', companyId: null }));
    expect(await lost.catch((error: { sqlState: string }) => error.sqlState)).toBe('23514');
    const root = person({ email: 'root@acme.example', companyId: null, isSuperAdmin: true });
    expect(await addUser(database, secrets, root)).toEqual({ outcome: 'added' });
  });

  test('invalid addresses and passwords are refused by name, and nothing is stored', async () => {
    for (const email of [
      '',
      'a',
      'a@b',
      'a b@c.de',
      '@c.de',
      `${'x'.repeat(300)}@c.de`,
      'a@b@c.de',
      'a<b>@c.de',
      'a,b@c.de',
      'a\u202e@c.de',
    ]) {
      expect(await addUser(database, secrets, person({ email }))).toEqual({ outcome: 'bad-email' });
    }
    for (const password of ['', 'short', 'x'.repeat(513)]) {
      const refused = await addUser(database, secrets, person({ email: 'new@acme.example', password }));
      expect(refused.outcome).toBe('bad-password');
    }
  });

  test('only the right password authenticates, and no hash is returned', async () => {
    const grace = person({ email: 'grace@acme.example', password: 'nanoseconds are long' });
    await addUser(database, secrets, grace);
    const opened = await authenticate(database, secrets, ' GRACE@acme.example', 'nanoseconds are long');
    expect(opened).toMatchObject({ id: grace.id, companyId: company.id });
    expect(JSON.stringify(opened)).not.toContain('argon2');
    for (const password of ['', 'nanoseconds are lon', 'x'.repeat(100_000)]) {
      expect(await authenticate(database, secrets, 'grace@acme.example', password)).toBeNull();
    }
    expect(await authenticate(database, secrets, 'nobody@acme.example', 'nanoseconds are long')).toBeNull();
  });

  test('a search finds companies behind many others, and reads the users once for all of them', async () => {
    await database.query(
      `insert into companies (id, name, billing_mode)
       select ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Crowd', 'PREPAID'
       from generate_series(1, 1100) as n`,
    );
    const last = {
      id: 'ffffffff-0000-4000-8000-000000000000',
      name: 'Lighthouse',
      billingMode: 'PREPAID',
    } as const;
    await addCompany(database, last);
    await addUser(database, secrets, person({ companyId: last.id, email: 'Keeper@lamp.example' }));
    const plans: string[] = [];
    const explained = {
      ...database,
      async query<Row>(text: string, values?: Parameters<typeof database.query>[1]) {
        plans.push(JSON.stringify(await database.query(`explain (analyze, format json) ${text}`, values)));
        return await database.query<Row>(text, values);
      },
    };
    const found = await listCompanies(explained, { limit: 51, words: ['keeper@lamp', 'house'] });
    expect(found.map(({ id }) => id)).toEqual([last.id]);
    const mostReads = (plan: string) => {
      const reads = [...plan.matchAll(/"Relation Name":"users".*?"Actual Loops":(\d+)/g)];
      return Math.max(...reads.map(([, loops]) => Number(loops)));
    };
    // Those that are searched first are looked up one by one.
    expect(plans.map((plan) => mostReads(plan) <= 1_000)).toEqual([true, true]);
    expect(mostReads(plans.at(-1) ?? '')).toBe(1);
    const page = { limit: 51, after: '00000000-0000-4000-8000-000000001000' };
    expect(await listCompanies(database, { ...page, words: ['crowd'] })).toHaveLength(51);
    expect(await listCompanies(database, { ...page, words: ['keeper', 'crowd'] })).toEqual([]);
  });
});
