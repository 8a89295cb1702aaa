import { expect, test } from 'bun:test';
import { finishedCall } from '../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { Database } from '../../ports/database.ts';
import type { Webhook, WebhookAnswer } from '../../ports/webhooks/webhook-sender.ts';
import { addCompany } from '../accounts/company.ts';
import { chargeCalls } from '../calls/settlement/charge-calls.ts';
import { createAfterCalls } from './after-calls.ts';
import { callHookWork, listHookDeliveries } from './hook-deliveries.ts';

const DAY_MS = 24 * 60 * 60_000;
const secrets = createSystemSecrets();
const log = createSilentLog();
const database = useDatabase();
const hook = { url: 'https://hooks.example/after', secrets: ['a secret', 'the one before'] };
const { signal } = new AbortController();

interface Batch {
  readonly id: string;
  readonly calls: readonly {
    readonly id: string;
    readonly credits: number | null;
    readonly status: number;
  }[];
}

function opened(own: Database = database) {
  const clock = createManualClock();
  const sent: Webhook[] = [];
  let status = 200;
  const send = async (webhook: Webhook): Promise<WebhookAnswer> => {
    sent.push(webhook);
    return { outcome: 'answered', status, body: new Uint8Array(), isWhole: true, durationMs: 5 };
  };
  const parts = { database: own, clock, log, secrets, webhooks: { send }, hook };
  const [work] = callHookWork({ ...parts, keepDays: 7 });
  return {
    ...{ clock, sent, parts },
    after: createAfterCalls(parts),
    batches: () => sent.map(({ body }) => JSON.parse(body) as Batch),
    answers: (next: number) => {
      status = next;
    },
    runJob: async () => await work?.handler({ id: 'job', data: {}, attempt: 1, signal }),
    deliveries: () => listHookDeliveries(database, { limit: 10, after: null }),
  };
}

async function chargedCall() {
  const companyId = secrets.newId();
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  const call = { ...finishedCall(companyId), id: secrets.newId() };
  await chargeCalls(database, [call]);
  return call;
}

test('records go out together, signed, with what was charged, and the log has the delivery', async () => {
  const { after, clock, sent, batches, deliveries } = opened();
  const call = await chargedCall();
  after.note(call);
  after.note({
    ...call,
    id: secrets.newId(),
    outcome: 'REFUSED',
    reason: 'BLOCKED_BY_HOOK',
    httpStatus: 403,
  });
  after.note({ ...call, id: secrets.newId(), alias: null });
  expect(sent).toEqual([]);
  await clock.advance(250);
  await until(() => after.counts().delivered === 2);
  expect(sent[0]).toMatchObject({ url: hook.url, secrets: hook.secrets });
  expect(batches()[0]?.calls).toMatchObject([
    { id: call.id, credits: 0.000076, status: 200 },
    { credits: null, status: 403, code: 'BLOCKED_BY_HOOK' },
  ]);
  expect(JSON.stringify(batches())).not.toContain('content');
  expect(await deliveries()).toMatchObject([{ calls: 2, state: 'DELIVERED', attempts: 1, httpStatus: 200 }]);
  await after.close();
});

test('what the hook does not accept is sent again, the same bytes, for a day', async () => {
  const { after, clock, sent, answers, runJob, deliveries } = opened();
  answers(503);
  after.note(await chargedCall());
  await clock.advance(250);
  await until(() => after.counts().deferred === 1);
  await runJob();
  expect(sent).toHaveLength(1);
  await clock.advance(60_000);
  await runJob();
  expect((await deliveries())[0]).toMatchObject({ state: 'WAITING', attempts: 2, httpStatus: 503 });
  answers(204);
  await clock.advance(120_000);
  await runJob();
  expect((await deliveries())[0]).toMatchObject({ state: 'DELIVERED', attempts: 3 });
  expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
  answers(503);
  after.note(await chargedCall());
  await clock.advance(250);
  await until(() => after.counts().deferred === 2);
  await clock.advance(DAY_MS);
  await runJob();
  expect((await deliveries())[0]).toMatchObject({ state: 'FAILED', attempts: 2 });
  const rows = await database.query('select 1 from call_hook_deliveries where payload is not null');
  expect(rows).toEqual([]);
  await clock.advance(7 * DAY_MS);
  await runJob();
  expect(await deliveries()).toEqual([]);
  await after.close();
});

test('a process that stops sends what it has; what one left behind is sent by another', async () => {
  const { after, sent, parts, clock, runJob } = opened();
  after.note(await chargedCall());
  await after.close();
  expect(sent).toHaveLength(1);
  const stuck = createAfterCalls({ ...parts, webhooks: { send: () => new Promise(() => undefined) } });
  stuck.note(await chargedCall());
  await clock.advance(250);
  await until(
    async () =>
      (await database.query("select 1 from call_hook_deliveries where state = 'WAITING'")).length > 0,
  );
  await runJob();
  expect(sent).toHaveLength(1);
  await clock.advance(30_000);
  await runJob();
  expect(sent).toHaveLength(2);
});

test('while the database is unavailable records wait, up to a bound', async () => {
  let isUnavailable = true;
  const own: Database = {
    ...database,
    query: (text, values) =>
      isUnavailable ? Promise.reject(new Error('unavailable')) : database.query(text, values),
  };
  const { after, clock, batches } = opened(own);
  const call = await chargedCall();
  for (let count = 0; count < 10_010; count += 1) after.note({ ...call, id: secrets.newId() });
  expect(after.counts().dropped).toBe(10);
  await clock.turn();
  isUnavailable = false;
  await clock.advance(2_000);
  await until(() => batches().length >= 1);
  await after.close();
  const delivered = after.counts();
  expect(delivered.delivered + delivered.deferred).toBe(10_000);
});
