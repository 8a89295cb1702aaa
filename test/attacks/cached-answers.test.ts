import { expect, test } from 'bun:test';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { creditsOf } from '../gateway/credits-under-test.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { chatAnswer } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const QUESTION = 'the secret question of the first company';
const ANSWER = 'the secret answer of the first company';
const body = { model: 'svc/chat-default', messages: [{ role: 'user', content: QUESTION }] };

const gateway = useResource(() => openGateway());

test('another company never gets a cached answer, not for the same bytes and not for a moved row; at rest it is encrypted', async () => {
  const { database, secrets } = gateway.parts;
  const other = secrets.newId();
  await addCompany(database, { id: other, name: 'Other', billingMode: 'PREPAID' });
  await creditsOf(gateway.parts, other).grant(1_000_000_000n);
  const { rawKey: theirs } = await gateway.mint();
  const { rawKey: attacker } = await gateway.mint({ companyId: other, cacheTtlSeconds: 600 });
  const says = (content: string) =>
    gateway.upstream.answer(() => Response.json(chatAnswer({ choices: [{ message: { content } }] })));
  const headers = { 'x-turnpike-cache': 'ttl=600' };
  const call = (key: string) => post(`${gateway.url}/chat/completions`, key, body, { headers });

  says(ANSWER);
  expect(await (await call(theirs)).text()).toContain(ANSWER);
  says('their own');
  const answered = await call(attacker);
  expect([answered.headers.get('x-turnpike-cache'), await answered.text()]).toEqual([
    'miss',
    expect.stringContaining('their own'),
  ]);

  // Who can write the database cannot have it opened for another company either.
  await database.query(
    `update cached_answers set sealed_answer =
       (select sealed_answer from cached_answers where company_id = $1) where company_id = $2`,
    [gateway.companyId, other],
  );
  const moved = await call(attacker);
  expect([moved.headers.get('x-turnpike-cache'), await moved.text()]).toEqual([
    'miss',
    expect.stringContaining('their own'),
  ]);

  const rows = await database.query<Record<string, unknown>>('select * from cached_answers');
  const texts = rows.map((row) =>
    Object.values(row)
      .map((value) => (value instanceof Uint8Array ? new TextDecoder('latin1').decode(value) : String(value)))
      .join(' '),
  );
  expect(rows).toHaveLength(2);
  // The digest is keyed: a guessed prompt cannot be confirmed by hashing it.
  const unkeyed = new TextDecoder('latin1').decode(secrets.sha256(JSON.stringify(body)));
  for (const secret of [QUESTION, ANSWER, unkeyed]) {
    for (const text of texts) expect(text).not.toContain(secret);
    expect(JSON.stringify(gateway.entries)).not.toContain(secret);
  }
});
