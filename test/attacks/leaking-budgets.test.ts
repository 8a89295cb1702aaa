import { beforeAll, expect, test } from 'bun:test';
import {
  type BudgetParams,
  listBudgetsWithSpending,
  setBudget,
} from '../../src/domain/credits/budgets/budgets.ts';
import { announceCompany } from '../../src/domain/credits/ledger/credit-account.ts';
import { until } from '../doubles/until.ts';
import { type GatewayUnderTest, openGateway, post, refusalOf } from '../gateway/gateway-under-test.ts';
import { chatAnswer, chunk, done, streamOf, usageChunk } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

/** 5 prompt tokens at 1, 2 cached at 0.5, 5 completion tokens at 4. */
const COST_MICRO = 26n;
const body = { model: 'svc/chat-default', messages: [], max_tokens: 100 };

/** Two processes on one database and shared state; both call the provider of the second. */
const opened = useResource(async () => {
  const gateway = await openGateway();
  const { database, sharedState } = gateway.parts;
  // On the embedded engine one process defers charges: the second has the database as the platform process has it.
  const { deferred: _deferredByTheFirst, ...undeferred } = database;
  const second = await openGateway({ database: undeferred, sharedState });
  const close = async () => {
    await second.close();
    await gateway.close();
  };
  return { gateway, second, close };
});
let gateway: GatewayUnderTest;
let second: GatewayUnderTest;
beforeAll(() => {
  ({ gateway, second } = opened);
});

async function budget(
  wanted: Pick<BudgetParams, 'scope' | 'subject' | 'monthlyMicro'> & { isHard?: boolean },
): Promise<void> {
  const { database, secrets, clock, sharedState } = gateway.parts;
  const { companyId } = gateway;
  const made = { newId: secrets.newId(), now: new Date(clock.now()) };
  const set = await database.transaction((transaction) =>
    setBudget(transaction, { isHard: true, ...wanted, companyId, version: null }, made),
  );
  if (set.outcome !== 'set') throw new Error(`not set: ${JSON.stringify(set)}`);
  await announceCompany(sharedState, companyId);
}
async function spending(scope: string, subject: string | null) {
  const { database, clock } = gateway.parts;
  const budgets = await listBudgetsWithSpending(database, gateway.companyId, new Date(clock.now()));
  return budgets.find((one) => one.scope === scope && one.subject === subject);
}
const send = (rawKey: string, changes: object = {}, url = gateway.url) =>
  post(`${url}/chat/completions`, rawKey, { ...body, ...changes });
async function pass(response: Promise<Response>): Promise<void> {
  const answered = await response;
  expect(answered.status).toBe(200);
  await answered.text();
}

test('a call that began before its budget was set counts against it as soon as it has ended', async () => {
  const { rawKey } = await gateway.mint({ project: 'late' });
  const held = Promise.withResolvers<void>();
  second.upstream.answer(async ({ body: sent }) => {
    if (new TextDecoder().decode(sent).includes('waits')) await held.promise;
    return Response.json(chatAnswer());
  });
  const before = second.upstream.received.length;
  const waiting = pass(send(rawKey, { metadata: { what: 'waits' } }));
  await until(() => second.upstream.received.length > before);
  await budget({ scope: 'PROJECT', subject: 'late', monthlyMicro: COST_MICRO + 1n });
  // Nothing is spent yet: the budget's level is read.
  await pass(send(rawKey));
  held.resolve();
  await waiting;
  for (const url of [gateway.url, second.url]) {
    expect(await refusalOf(send(rawKey, {}, url))).toMatchObject({ code: 'BUDGET_EXCEEDED' });
  }
});

test('an end user’s budget applies to calls of any key, route, process and form of answer', async () => {
  const [one, other] = [await gateway.mint(), await gateway.mint()];
  await budget({ scope: 'END_USER', subject: 'ada', monthlyMicro: COST_MICRO * 4n });
  await pass(send(one.rawKey, { user: 'ada' }));
  await pass(send(other.rawKey, { safety_identifier: 'ada' }, second.url));
  second.upstream.answer(() => streamOf(chunk('Hi'), usageChunk, done));
  await pass(send(one.rawKey, { user: 'ada', stream: true }));
  second.upstream.answer(() => Response.json(chatAnswer()));
  await pass(post(`${gateway.url}/completions`, one.rawKey, { ...body, prompt: 'x', user: ' ada ' }));
  for (const { rawKey } of [one, other]) {
    for (const url of [gateway.url, second.url]) {
      const refused = await refusalOf(send(rawKey, { user: 'ada' }, url));
      expect(refused).toMatchObject({ status: 403, type: 'permission_error', code: 'BUDGET_EXCEEDED' });
      expect(refused.message).toMatch(
        /^The monthly budget of 0\.000104 credits of the end user "ada" is used up\. .* It resets on \d{4}-\d\d-01 \(UTC\)\.$/,
      );
    }
  }
  const messages = await post(`${gateway.url}/messages`, one.rawKey, {
    ...{ ...body, messages: [{ role: 'user', content: 'x' }], metadata: { user_id: 'ada' } },
  });
  expect([messages.status, await messages.text()]).toEqual([403, expect.stringContaining('BUDGET_EXCEEDED')]);
  await pass(send(one.rawKey, { user: 'bob' }));
  await pass(send(one.rawKey));
  expect(await spending('END_USER', 'ada')).toMatchObject({ spentMicro: COST_MICRO * 4n });
});

test('a default applies to each end user separately, and one with a budget of their own has that alone', async () => {
  const { rawKey } = await gateway.mint();
  await budget({ scope: 'END_USER', subject: '*', monthlyMicro: COST_MICRO });
  await budget({ scope: 'END_USER', subject: 'vip', monthlyMicro: COST_MICRO * 2n });
  for (const user of ['u1', '*', 'vip']) await pass(send(rawKey, { user }));
  for (const user of ['u1', '*']) expect((await refusalOf(send(rawKey, { user }))).status).toBe(403);
  await pass(send(rawKey, { user: 'vip' }));
  expect((await refusalOf(send(rawKey, { user: 'vip' }))).status).toBe(403);
  expect(await spending('END_USER', '*')).toMatchObject({ spentMicro: COST_MICRO, usedUpBy: 3 });
});

test('a project’s budget applies to all its keys and to no other, the company’s to all; one for alerts alone refuses nothing', async () => {
  const projects = ['web-x', 'web-x', 'app-x'];
  const [web = '', also = '', app = ''] = await Promise.all(
    projects.map(async (project) => (await gateway.mint({ project })).rawKey),
  );
  await budget({ scope: 'PROJECT', subject: 'web-x', monthlyMicro: COST_MICRO * 2n });
  await pass(send(web));
  await pass(send(also));
  for (const key of [web, also]) {
    expect((await refusalOf(send(key))).message).toContain('of the project "web-x" is used up');
  }
  await pass(send(app));
  expect(await spending('PROJECT', 'web-x')).toMatchObject({ spentMicro: COST_MICRO * 2n });
  await budget({ scope: 'COMPANY', subject: null, monthlyMicro: 1n });
  expect((await refusalOf(send(app))).message).toContain('of your company is used up');
  const reading = await fetch(`${gateway.url}/models`, { headers: { authorization: `Bearer ${app}` } });
  expect(reading.status).toBe(200);
  await budget({ scope: 'COMPANY', subject: null, monthlyMicro: 1n, isHard: false });
  await pass(send(app));
});

test('end users are separate by company: another company’s calls for the same name spend nothing of it', async () => {
  const foreign = await second.mint();
  const { rawKey } = await gateway.mint();
  await budget({ scope: 'END_USER', subject: 'same', monthlyMicro: COST_MICRO });
  for (let n = 0; n < 3; n += 1) await pass(send(foreign.rawKey, { user: 'same' }, second.url));
  expect(await spending('END_USER', 'same')).toMatchObject({ spentMicro: 0n });
  await pass(send(rawKey, { user: 'same' }));
  expect((await send(rawKey, { user: 'same' })).status).toBe(403);
  await pass(send(foreign.rawKey, { user: 'same' }, second.url));
});
