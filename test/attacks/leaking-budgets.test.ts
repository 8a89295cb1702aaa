import { afterEach, beforeAll, describe, expect, test } from 'bun:test';
import {
  type BudgetParams,
  deleteBudget,
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

/**
 * Ways in which budgets of other gateways leak: by another key of the same end user, by streams, by another process, by many
 * calls at once, by a rotation, by failures that count, by a month that is not the call's.
 */
describe('budgets', () => {
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

  const budget = async (
    wanted: Pick<BudgetParams, 'scope' | 'subject' | 'monthlyMicro'> & { isHard?: boolean },
  ) => {
    const { database, secrets, clock, sharedState } = gateway.parts;
    const { companyId } = gateway;
    const made = { newId: secrets.newId(), now: new Date(clock.now()) };
    const set = await database.transaction((transaction) =>
      setBudget(transaction, { isHard: true, ...wanted, companyId, version: null }, made),
    );
    if (set.outcome !== 'set') throw new Error(`not set: ${JSON.stringify(set)}`);
    await announceCompany(sharedState, companyId);
    return set.budget;
  };
  const budgets = () =>
    listBudgetsWithSpending(gateway.parts.database, gateway.companyId, new Date(gateway.parts.clock.now()));
  afterEach(async () => {
    second.upstream.answer(() => Response.json(chatAnswer()));
    for (const { id } of await budgets()) await deleteBudget(gateway.parts.database, gateway.companyId, id);
    await announceCompany(gateway.parts.sharedState, gateway.companyId);
  });
  const send = (rawKey: string, changes: object = {}, url = gateway.url) =>
    post(`${url}/chat/completions`, rawKey, { ...body, ...changes });
  const pass = async (response: Promise<Response>) => {
    const answered = await response;
    expect(answered.status).toBe(200);
    await answered.text();
  };

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
    expect([messages.status, await messages.text()]).toEqual([
      403,
      expect.stringContaining('BUDGET_EXCEEDED'),
    ]);
    await pass(send(one.rawKey, { user: 'bob' }));
    await pass(send(one.rawKey));
    expect(await budgets()).toMatchObject([{ spentMicro: COST_MICRO * 4n }]);
  });

  test('a default applies to each end user separately, and one with a budget of their own has that alone', async () => {
    const { rawKey } = await gateway.mint();
    await budget({ scope: 'END_USER', subject: '*', monthlyMicro: COST_MICRO });
    await budget({ scope: 'END_USER', subject: 'vip', monthlyMicro: COST_MICRO * 2n });
    for (const user of ['u1', 'u2', '*', 'vip']) await pass(send(rawKey, { user }));
    for (const user of ['u1', 'u2', '*']) expect((await refusalOf(send(rawKey, { user }))).status).toBe(403);
    await pass(send(rawKey, { user: 'vip' }));
    expect((await refusalOf(send(rawKey, { user: 'vip' }))).status).toBe(403);
    const every = (await budgets()).find(({ subject }) => subject === '*');
    // Beside those of the test before.
    expect(every).toMatchObject({ topEndUser: 'ada', spentMicro: COST_MICRO * 4n, usedUpBy: 5 });
  });

  test('a project’s budget applies to all its keys, a rotated one too, and to no other; the company’s to all', async () => {
    const [web, also, app] = await Promise.all(
      ['web-x', 'web-x', 'app-x'].map((project) => gateway.mint({ project })),
    );
    await budget({ scope: 'PROJECT', subject: 'web-x', monthlyMicro: COST_MICRO * 2n });
    await pass(send(web?.rawKey ?? ''));
    await pass(send(also?.rawKey ?? ''));
    for (const key of [web, also]) {
      expect((await refusalOf(send(key?.rawKey ?? ''))).message).toContain(
        'of the project "web-x" is used up',
      );
    }
    await pass(send(app?.rawKey ?? ''));
    const { spentMicro } = (await budgets())[0] ?? { spentMicro: 0n };
    expect(spentMicro).toBe(COST_MICRO * 2n);
    await budget({ scope: 'COMPANY', subject: null, monthlyMicro: 1n });
    expect((await refusalOf(send(app?.rawKey ?? ''))).message).toContain('of your company is used up');
    const reading = await fetch(`${gateway.url}/models`, {
      headers: { authorization: `Bearer ${app?.rawKey}` },
    });
    expect(reading.status).toBe(200);
  });

  test('failed calls and calls that a budget refused do not count; a budget for alerts alone refuses nothing', async () => {
    const { rawKey, id } = await gateway.mint();
    await budget({ scope: 'KEY', subject: id, monthlyMicro: COST_MICRO });
    second.upstream.answer(() => new Response('no', { status: 500 }));
    for (let n = 0; n < 3; n += 1) expect((await send(rawKey)).status).toBe(503);
    second.upstream.answer(() => Response.json(chatAnswer()));
    await pass(send(rawKey));
    expect((await refusalOf(send(rawKey))).message).toContain('of this key is used up');
    await budget({ scope: 'KEY', subject: id, monthlyMicro: COST_MICRO, isHard: false });
    await pass(send(rawKey));
    expect(await budgets()).toMatchObject([{ spentMicro: COST_MICRO * 2n, isHard: false, version: 2 }]);
    await budget({ scope: 'KEY', subject: id, monthlyMicro: COST_MICRO * 3n });
    await pass(send(rawKey));
    expect((await send(rawKey)).status).toBe(403);
  });

  test('concurrent calls in two processes start only while the rest covers their holds', async () => {
    const keys = [await gateway.mint(), await gateway.mint()];
    const held = BigInt(Math.ceil(JSON.stringify({ ...body, user: 'many' }).length / 4) + 400);
    await budget({ scope: 'END_USER', subject: 'many', monthlyMicro: held * 5n });
    const gate = Promise.withResolvers<void>();
    let entered = 0;
    second.upstream.answer(async () => {
      entered += 1;
      await gate.promise;
      return Response.json(chatAnswer());
    });
    const statuses: number[] = [];
    const all = Array.from({ length: 30 }, async (_, n) => {
      const url = n % 2 === 0 ? gateway.url : second.url;
      const answered = await send(keys[n % keys.length]?.rawKey ?? '', { user: 'many' }, url);
      await answered.text();
      statuses.push(answered.status);
    });
    await until(() => entered + statuses.length === 30);
    expect(entered).toBe(5);
    expect(statuses.every((status) => status === 403)).toBe(true);
    const waiting = await refusalOf(send(keys[0]?.rawKey ?? '', { user: 'many' }));
    expect(waiting.message).toContain('is held by calls that are still running');
    gate.resolve();
    await Promise.all(all);
    expect((await budgets())[0]?.spentMicro).toBe(COST_MICRO * 5n);
  });

  test('a call counts in the month in which it began: one of last month takes nothing from this one', async () => {
    const { rawKey } = await gateway.mint();
    const { database } = gateway.parts;
    await pass(send(rawKey, { user: 'old' }));
    await database.query(
      `update subject_months set month = month - interval '1 month' where company_id = $1 and subject = 'old'`,
      [gateway.companyId],
    );
    await budget({ scope: 'END_USER', subject: 'old', monthlyMicro: 1n });
    await pass(send(rawKey, { user: 'old' }));
    expect((await send(rawKey, { user: 'old' })).status).toBe(403);
  });

  test('end users are separate by company: another company’s calls for the same name spend nothing of it', async () => {
    const foreign = await second.mint();
    const { rawKey } = await gateway.mint();
    await budget({ scope: 'END_USER', subject: 'same', monthlyMicro: COST_MICRO });
    second.upstream.answer(() => Response.json(chatAnswer()));
    for (let n = 0; n < 3; n += 1) await pass(send(foreign.rawKey, { user: 'same' }, second.url));
    expect((await budgets())[0]?.spentMicro).toBe(0n);
    await pass(send(rawKey, { user: 'same' }));
    expect((await send(rawKey, { user: 'same' })).status).toBe(403);
    await pass(send(foreign.rawKey, { user: 'same' }, second.url));
  });
});
