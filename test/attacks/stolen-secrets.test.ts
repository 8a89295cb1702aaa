/** What a thief of tokens or of the database gets. */
import { expect, test } from 'bun:test';
import { SignJWT } from 'jose';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createAccessTokens } from '../../src/domain/accounts/tokens.ts';
import { createModelDirectory } from '../../src/domain/models/model-directory.ts';
import { MODELS_TOPIC } from '../../src/domain/models/targets.ts';
import { JWT_SECRET, openBackend, PASSWORD } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { startScriptedUpstream } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const RENEWED = 'the secret that has replaced the leaked one';
const clock = createManualClock();
const gateway = useResource(() => openGateway());
const thief = useResource(() => startScriptedUpstream());
const backend = useResource(async () =>
  openBackend({
    ...{ database: gateway.parts.database, secrets: createSystemSecrets(), clock },
    accessTokens: await createAccessTokens([RENEWED], clock),
  }),
);

test('P-8 tokens that are forged, of no user, or signed with a secret that was replaced are anonymous', async () => {
  const { superAdmin, member } = backend.people;
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(clock.now() / 1000);
  const claims = { sub: superAdmin.userId, email: superAdmin.email, iat: now, exp: now + 900 };
  const sign = (body: Record<string, unknown>, key = RENEWED) =>
    new SignJWT(body).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(key));
  const [header = '', , signature = ''] = member.token.split('.');
  for (const token of [
    `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.`,
    `${header}.${encode(claims)}.${signature}`,
    await sign({ ...claims, sub: 'nobody' }),
    await sign(claims, JWT_SECRET),
  ]) {
    const { extensions } = await graphqlClient(backend.fetch, token).refusal('{ whoAmI { email } }');
    expect([token, extensions.code]).toEqual([token, 'UNAUTHENTICATED']);
  }
  const right = graphqlClient(backend.fetch, await sign(claims));
  expect(await right.ask('{ whoAmI { email } }')).toEqual({ whoAmI: { email: superAdmin.email } });
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
  const body = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'the private question' }] };
  const headers = { 'idempotency-key': 'once' };
  const answered = await post(`${gateway.url}/chat/completions`, rawKey, body, { headers });
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
  const input = { companyName: 'Own', email: 'own@people.example', password: PASSWORD };
  await anonymous.ask('mutation($input: SignUpInput!) { signUp(input: $input) { expiresAt } }', { input });
  const tokens = backend.mails.flatMap(({ data }) => ('token' in data ? [data.token] : []));
  expect(tokens.length).toBeGreaterThanOrEqual(3);

  const stolen = await everyRow();
  expect(stolen).toContain(admin.email);
  const secrets = [rawKey, PASSWORD, 'sk-provider', 'the private answer', 'the private question'];
  for (const secret of [...secrets, login.accessToken, login.refreshToken, ...tokens]) {
    expect([secret, stolen.includes(secret)]).toEqual([secret, false]);
  }
  expect(stolen).toMatch(/\$argon2id\$/);
});

test('a provider key whose row is moved to another address in the database is not sent there', async () => {
  const { database, sharedState } = gateway.parts;
  const { rawKey } = await gateway.mint();
  const moved = await database.query(
    'update model_targets set base_url = $1 where base_url = $2 returning id',
    [thief.url, gateway.upstream.url],
  );
  expect(moved.length).toBeGreaterThan(0);
  await sharedState.publish(MODELS_TOPIC, '');
  // A process that starts now has only the changed row to read.
  const later = await createModelDirectory({ ...gateway.catalogue, clock, embeddedAllowed: false });
  const target = later.find('svc/chat-default')?.targets.find(({ baseUrl }) => baseUrl === thief.url);
  await later.close();
  expect(JSON.stringify(target ?? null)).not.toContain('sk-provider');
  for (let turn = 0; turn < 20; turn += 1) {
    const body = { model: 'svc/chat-default', messages: [] };
    await (await post(`${gateway.url}/chat/completions`, rawKey, body)).text();
  }
  expect(thief.received).toEqual([]);
});
