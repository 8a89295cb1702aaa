import { expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../../test/doubles/recording-log.ts';
import { addTestCompany } from '../../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import type { AlertEvent } from '../../alerts/alert-events.ts';
import { shownCall } from '../log/call-lines.ts';
import { listCalls } from '../log/call-log.ts';
import { chargeCalls } from '../settlement/charge-calls.ts';
import { marginReport } from './margins.ts';
import { createUnpricedReport } from './report-unpriced-calls.ts';

const database = useDatabase();
const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 5, 1, 12);

async function charge(companyId: string, startedAtMs: number, unpriced?: string[]) {
  const tokens = { promptTokens: 100, cachedTokens: 0, completionTokens: 10 };
  await chargeCalls(database, [finishedCall(companyId, { startedAtMs, tokens, unpriced })]);
}

test('the operators are alerted of the first call of a day whose provider reported an unknown cost, once', async () => {
  const clock = createManualClock(START);
  const { log, entries } = createRecordingLog();
  const events: AlertEvent[] = [];
  const alerts = { dispatch: async (event: AlertEvent) => events.push(event) };
  const opened = () => createUnpricedReport({ database, clock, log, alerts });
  const report = opened();
  const companyId = await addTestCompany(database);
  await charge(companyId, START);
  expect(await report()).toBeNull();
  await charge(companyId, START + 2, ['service_tier']);
  await charge(companyId, START + 1, ['plugins', 'web_search']);
  expect([await report(), await report()]).toEqual(['2026-06-01', null]);
  expect(events).toMatchObject([
    {
      ...{ kind: 'UNPRICED_CALLS', companyId: null, fact: '2026-06-01' },
      message: expect.stringContaining('plugins, web_search'),
      data: { company_id: companyId, model: 'svc/chat-default', unpriced: ['plugins', 'web_search'] },
    },
  ]);
  expect(entries.filter(({ message }) => message.includes('no price covers'))).toHaveLength(1);
  // After a restart the fact is the same, so that its deliveries are.
  expect(await opened()()).toBe('2026-06-01');
  expect(new Set(events.map(({ fact }) => fact)).size).toBe(1);
  await charge(companyId, START + DAY_MS, ['audio']);
  await clock.advance(DAY_MS);
  expect(await report()).toBe('2026-06-02');
});

test('the margin report has the calls and tokens whose cost is not fully known; the log of requests has their fields', async () => {
  const companyId = await addTestCompany(database);
  const at = START + 30 * DAY_MS;
  await charge(companyId, at);
  await charge(companyId, at, ['service_tier']);
  await charge(companyId, at + DAY_MS, ['audio', 'web_search']);
  const read = (from: string, to: string) => marginReport(database, { from, to, groupBy: 'MODEL' });
  expect((await read('2026-07-01', '2026-07-02')).unpriced).toEqual({
    ...{ calls: 2n, promptTokens: 200n, completionTokens: 20n },
  });
  expect((await read('2026-07-02', '2026-07-02')).unpriced.calls).toBe(1n);
  expect((await read('2026-07-03', '2026-07-03')).unpriced.calls).toBe(0n);
  const { calls } = await listCalls(database, { companyId }, { limit: 10, after: null });
  expect(calls.map((call) => shownCall(call).unpriced.join()).sort()).toEqual([
    ...['', 'audio,web_search', 'service_tier'],
  ]);
});
