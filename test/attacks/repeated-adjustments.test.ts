import { beforeAll, expect, test } from 'bun:test';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { type BackendUnderTest, openBackend } from '../backend/backend-under-test.ts';
import { describePostgres, usePostgres } from '../setup/use-postgres.ts';

const ADJUST = `mutation($id: ID!, $credits: Float!, $key: String!) {
  adjustCredits(companyId: $id, credits: $credits, reason: "once", idempotencyKey: $key) { id balanceAfter } }`;

describePostgres('an adjustment that is sent again', () => {
  const database = usePostgres();
  let backend: BackendUnderTest;
  beforeAll(async () => {
    backend = await openBackend({ database, clock: createSystemClock() });
  });

  test('P-19 sent twenty times at once it is posted once, and all get the same answer', async () => {
    const { superAdmin } = backend.people;
    const id = await backend.company('Rush');
    const send = () => superAdmin.ask(ADJUST, { id, credits: 5, key: 'rush' });
    const answers = await Promise.all(Array.from({ length: 20 }, send));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    const admin = await backend.person(id, { role: 'COMPANY_ADMIN' });
    expect(await admin.ask('{ creditBalance { credits } }')).toEqual({ creditBalance: { credits: 5 } });
  });

  test('P-19 with another amount, or for another company, under the same key it is refused', async () => {
    const { superAdmin } = backend.people;
    const [id, otherId] = [await backend.company('First'), await backend.company('Second')];
    await superAdmin.ask(ADJUST, { id, credits: 5, key: 'same' });
    const more = await superAdmin.refusal(ADJUST, { id, credits: 500, key: 'same' });
    expect(more.extensions.code).toMatch(/CONFLICT|BAD_USER_INPUT/);
    const answer = await superAdmin.answer(ADJUST, { id: otherId, credits: 7, key: 'same' });
    const balances = await Promise.all(
      [id, otherId].map(async (company) => {
        const admin = await backend.person(company, { role: 'COMPANY_ADMIN' });
        return (await admin.ask<{ creditBalance: { credits: number } }>('{ creditBalance { credits } }'))
          .creditBalance.credits;
      }),
    );
    expect(balances[0]).toBe(5);
    expect(balances[1]).toBe(answer.errors === undefined ? 7 : 0);
  });
});
