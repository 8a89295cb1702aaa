import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { useMemoryDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { AlertEvent } from '../alerts/alert-events.ts';
import { type DifferencesReportParts, reportDifferences } from './report-differences.ts';

const database = useMemoryDatabase();
const clock = createManualClock();
const { newId } = createSystemSecrets();

type OperatorMail = Parameters<DifferencesReportParts['mail']['send']>[0];
const mails = new Map<string, OperatorMail>();
const alerts = new Map<string, AlertEvent>();
const parts: DifferencesReportParts = {
  ...{ database, clock },
  // As the outbox and the deliveries: one of each key.
  mail: { send: async (mail) => mails.set(mail.dedupeKey, mail) },
  alerts: { dispatch: async (event) => alerts.set(event.fact, event).size },
};

/** An audit that ended now, with differences of these subjects. */
async function audited(subjects: readonly string[], isDaily = true): Promise<string> {
  const [id, now] = [newId(), new Date(clock.now())];
  await database.query(
    `insert into audits (id, from_at, to_at, is_daily, status, started_at, updated_at, checked_at)
     values ($1, $2, $2, $3, 'DONE', $2, $2, $2)`,
    [id, now, isDaily],
  );
  for (const [number, subject] of subjects.entries()) {
    await database.query(
      `insert into audit_differences (audit_id, number, kind, subject, expected, found, remedy)
       values ($1, $2, 'CASH', $3, '10 usd', '0 usd', 'turnpike correct')`,
      [id, number, subject],
    );
  }
  return id;
}

test('differences of the daily audit are mailed to super admins and sent to the operators’ channels, each once', async () => {
  await database.query(
    `insert into users (id, company_id, email, password_hash, role, is_super_admin)
     values ($1, null, 'root@example.com', 'none', 'MEMBER', true)`,
    [newId()],
  );
  expect(await reportDifferences(parts)).toBe(0);
  await audited([]);
  expect(await reportDifferences(parts)).toBe(0);
  await clock.advance(86_400_000);

  const first = await audited(['purchase/1']);
  const checkedAt = new Date(clock.now());
  expect(await reportDifferences(parts)).toBe(1);
  await clock.advance(600_000);
  expect(await reportDifferences(parts)).toBe(1);
  expect([...mails.values()]).toEqual([
    {
      ...{ kind: 'audit-differences', to: 'root@example.com' },
      dedupeKey: `audit-differences:${first}:root@example.com`,
      data: { differences: 1, newDifferences: 1, kinds: ['CASH'], checkedAt },
    },
  ]);
  expect([...alerts.values()]).toMatchObject([
    { kind: 'AUDIT_DIFFERENCES', companyId: null, fact: first, title: 'The audit found 1 difference' },
  ]);

  // The next day the same one is no news; a requested range neither; the day after, a second one is.
  await clock.advance(86_400_000);
  await audited(['purchase/1']);
  expect(await reportDifferences(parts)).toBe(0);
  await clock.advance(60_000);
  await audited(['purchase/7'], false);
  expect(await reportDifferences(parts)).toBe(0);
  await clock.advance(86_400_000);
  await audited(['purchase/1', 'purchase/2']);
  expect(await reportDifferences(parts)).toBe(1);
  expect([mails.size, alerts.size]).toEqual([2, 2]);
  expect([...mails.values()][1]?.data).toMatchObject({ differences: 2, newDifferences: 1 });
  await clock.advance(3 * 86_400_000);
  expect(await reportDifferences(parts)).toBe(0);
});
