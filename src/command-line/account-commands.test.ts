import { describe, expect, test } from 'bun:test';
import { typedCommand } from '../../test/doubles/typed-command.ts';
import { useDatabase } from '../../test/setup/use-database.ts';
import { findUserByEmail } from '../domain/accounts/user.ts';
import { createCompany } from './account-commands.ts';

const database = useDatabase();
const type = (...words: string[]) => typedCommand({ database }, createCompany, ...words);

describe('turnpike create-company', () => {
  test('creates a company and its admin, whose address counts as verified, and records it', async () => {
    const { exitCode, lines } = await type('Acme', 'ada@acme.example');
    expect([exitCode, lines.length]).toEqual([0, 2]);
    const companyId = lines[0]?.split(/[ :]+/)[1];
    expect(await findUserByEmail(database, 'ada@acme.example')).toMatchObject({
      companyId,
      role: 'COMPANY_ADMIN',
      isSuperAdmin: false,
      emailVerified: true,
    });
    expect(await database.query('select action, object_id from audit_log')).toEqual([
      { action: 'company.created', object_id: companyId as string },
    ]);
  });

  test('an address with an account, or an invalid one, creates no company', async () => {
    const count = async () => (await database.query('select 1 from companies')).length;
    const before = await count();
    expect(await type('Again', 'ADA@acme.example')).toEqual({
      exitCode: 1,
      lines: ['! ADA@acme.example has an account already'],
    });
    expect((await type('Wrong', 'nobody')).exitCode).toBe(1);
    expect((await type('Only a name')).lines.join()).toContain('create-company NAME EMAIL');
    expect(await count()).toBe(before);
  });
});
