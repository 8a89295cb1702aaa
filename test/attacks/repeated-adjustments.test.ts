import { beforeAll, expect, test } from 'bun:test';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { type BackendUnderTest, openBackend } from '../backend/backend-under-test.ts';
import { describePostgres, usePostgres } from '../setup/use-postgres.ts';

const ADJUST = `mutation($id: ID!, $credits: Float!) {
  adjustCredits(companyId: $id, credits: $credits, reason: "once", idempotencyKey: "rush") { id balanceAfter } }`;

describePostgres('an adjustment that is sent again', () => {
  const database = usePostgres();
  let backend: BackendUnderTest;
  beforeAll(async () => {
    backend = await openBackend({ database, clock: createSystemClock() });
  });

  test('P-19 twenty times at once is posted once, and all get the same answer; with another amount it is refused', async () => {
    const { superAdmin } = backend.people;
    const id = await backend.company('Rush');
    const send = () => superAdmin.ask(ADJUST, { id, credits: 5 });
    const answers = await Promise.all(Array.from({ length: 20 }, send));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect((await superAdmin.refusal(ADJUST, { id, credits: 500 })).extensions.code).toBe('CONFLICT');
    const admin = await backend.person(id, { role: 'COMPANY_ADMIN' });
    expect(await admin.ask('{ creditBalance { credits } }')).toEqual({ creditBalance: { credits: 5 } });
  });
});
