import { beforeAll, describe, expect, test } from 'bun:test';
import { typedCommand } from '../../test/doubles/typed-command.ts';
import { useDatabase } from '../../test/setup/use-database.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { addCompany } from '../domain/accounts/company.ts';
import { addUser } from '../domain/accounts/user.ts';
import {
  createServiceTokenCommand,
  revokeServiceTokenCommand,
  serviceTokensCommand,
} from './service-token-commands.ts';

const secrets = createSystemSecrets();
const companyId = secrets.newId();
const database = useDatabase();
const ADMIN = 'admin@acme.example';

beforeAll(async () => {
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  const password = 'a long enough pass phrase';
  for (const [email, role] of [
    [ADMIN, 'COMPANY_ADMIN'],
    ['member@acme.example', 'MEMBER'],
  ] as const) {
    await addUser(database, secrets, {
      id: secrets.newId(),
      companyId,
      email,
      password,
      role,
      isSuperAdmin: false,
    });
  }
});

describe('turnpike create-service-token, service-tokens, revoke-service-token', () => {
  test('prints a token once, lists it without, revokes it, and the audit log has both', async () => {
    const words = [ADMIN, 'ci', '--scopes', 'keys:read,keys:write', '--days', '30'];
    const made = await typedCommand({ database }, createServiceTokenCommand, ...words);
    expect(made.exitCode).toBe(0);
    const [raw = '', line = ''] = made.lines;
    expect(raw).toMatch(/^tps_[\w-]{43}$/);
    const id = /^service token (\S+) until 2030-01-31T/.exec(line)?.[1] ?? '';
    const listed = await typedCommand({ database }, serviceTokensCommand, companyId);
    expect(listed.lines).toEqual([
      expect.stringMatching(/^\S+ LIVE keys:read,keys:write until .*, never used: ci$/),
    ]);
    expect(listed.lines.join('')).not.toContain(raw);
    for (const _ of [1, 2]) {
      const revoked = await typedCommand({ database }, revokeServiceTokenCommand, companyId, id);
      expect(revoked).toEqual({ exitCode: 0, lines: [`revoked ${id}: ci`] });
    }
    const entries = await database.query<{ action: string }>('select action from audit_log order by id');
    expect(entries.map(({ action }) => action)).toEqual(['service-token.created', 'service-token.revoked']);
  });

  test('reports invalid arguments', async () => {
    const create = async (...words: string[]) =>
      (await typedCommand({ database }, createServiceTokenCommand, ...words)).lines;
    expect(await create('member@acme.example', 'x', '--scopes', 'keys:read')).toEqual([
      '! member@acme.example is not the admin of a company',
    ]);
    expect((await create(ADMIN, 'x', '--scopes', 'keys:all'))[0]).toStartWith(
      '! scopes: there is no scope keys:all',
    );
    const revoked = await typedCommand({ database }, revokeServiceTokenCommand, companyId, 'x');
    expect(revoked).toEqual({ exitCode: 1, lines: [`! the company ${companyId} has no service token x`] });
  });
});
