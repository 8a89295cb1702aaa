import { beforeAll, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { type BackendUnderTest, openBackend, PASSWORD } from '../backend/backend-under-test.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

const gateway = useResource(() => openGateway());
let backend: BackendUnderTest;
beforeAll(async () => {
  backend = await openBackend({ database: gateway.parts.database, secrets: createSystemSecrets() });
});

/** Everything a thief of the database reads: every row of every table, as text, bytes as hex and as Latin-1. */
async function everyRow(): Promise<string> {
  const { database } = gateway.parts;
  const tables = await database.query<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
     where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  );
  let text = '';
  for (const { name } of tables) {
    const rows = await database.query<{ row: string }>(`select to_jsonb(t)::text as row from ${name} t`);
    for (const { row } of rows) {
      text += row;
      for (const [, hex = ''] of row.matchAll(/\\\\x([0-9a-f]+)/g))
        text += Buffer.from(hex, 'hex').toString('latin1');
    }
  }
  return text;
}

test('G-19 P-8 no row has a company key, a password, a provider key, a stored answer, or a usable token', async () => {
  const { rawKey } = await gateway.mint();
  gateway.upstream.answer(() => Response.json({ choices: [{ message: { content: 'the private answer' } }] }));
  const answered = await post(
    `${gateway.url}/chat/completions`,
    rawKey,
    { model: 'svc/chat-default', messages: [{ role: 'user', content: 'the private question' }] },
    { headers: { 'idempotency-key': 'once' } },
  );
  expect(await answered.text()).toContain('the private answer');

  const { admin, anonymous } = backend.people;
  const { login } = await anonymous.ask<{ login: { accessToken: string; refreshToken: string } }>(
    'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken refreshToken } }',
    { email: admin.email, password: PASSWORD },
  );
  await anonymous.ask('mutation($email: String!) { requestPasswordReset(email: $email) }', {
    email: admin.email,
  });
  await admin.ask('mutation { inviteMember(email: "new@people.example") { id } }');
  const tokens = backend.mails.flatMap(({ data }) => ('token' in data ? [data.token] : []));
  expect(tokens.length).toBeGreaterThanOrEqual(2);

  const stolen = await everyRow();
  expect(stolen).toContain(admin.email);
  const secrets = [rawKey, PASSWORD, 'sk-provider', 'the private answer', 'the private question'];
  for (const secret of [...secrets, login.accessToken, login.refreshToken, ...tokens]) {
    expect([secret, stolen.includes(secret)]).toEqual([secret, false]);
  }
  expect(stolen).toMatch(/\$argon2id\$/);
});
