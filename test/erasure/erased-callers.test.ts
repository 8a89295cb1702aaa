import { expect, test } from 'bun:test';
import { dropAnswersOf } from '../../src/domain/answer-cache/answer-cache.ts';
import { erasePayloads } from '../../src/domain/call-payloads/call-payloads.ts';
import { until } from '../doubles/until.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { chatAnswer } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';
import { searchTables } from './search.ts';

const gateway = useResource(() => openGateway());
const END_USER = 'brindlewick-42';
const SAID = ['the question of brindlesaid', 'the answer of brindlesaid'] as const;

/** The record of a call and its sums have the name of the end user; what was said is in none of them. */
const KEEP_NAMES = ['calls', 'subject_months', 'usage_subject_days'];

test('what an end user of a caller said is in no table in clear, and erased by their name with what is cached', async () => {
  const { database } = gateway.parts;
  const { rawKey, id } = await gateway.mint({ logPayloads: true, cacheTtlSeconds: 600 });
  gateway.upstream.answer(() => Response.json(chatAnswer({ choices: [{ message: { content: SAID[1] } }] })));
  const body = { model: 'svc/chat-default', messages: [{ role: 'user', content: SAID[0] }], user: END_USER };
  const headers = { 'idempotency-key': 'once' };
  const answered = await post(`${gateway.url}/chat/completions`, rawKey, body, { headers });
  expect(await answered.text()).toContain(SAID[1]);
  await gateway.calls(id, 1);
  const named = async () => Object.keys(await searchTables(database, [END_USER])).toSorted();
  await until(async () => {
    const tables = await named();
    return ['call_payloads', 'cached_answers', ...KEEP_NAMES].every((table) => tables.includes(table));
  });
  expect(await searchTables(database, SAID)).toEqual({});

  const which = { requestId: null, endUser: END_USER };
  const erased = await database.transaction(async (transaction) => [
    await erasePayloads(transaction, gateway.companyId, which),
    await dropAnswersOf(transaction, gateway.companyId, which),
  ]);
  expect(erased).toEqual([1, 1]);
  expect(await named()).toEqual(KEEP_NAMES);
});
