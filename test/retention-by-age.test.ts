import { expect, test } from 'bun:test';
import { purgeExpiredTokens } from '../src/domain/accounts/sessions.ts';
import { dropEvent, purgePaymentEvents } from '../src/domain/payments/payment-jobs.ts';
import { createManualClock } from './doubles/manual-clock.ts';
import { createSilentLog } from './doubles/silent-log.ts';
import { useDatabase } from './setup/use-database.ts';

const NOW = Date.UTC(2030, 5, 1);
const DAY_MS = 24 * 60 * 60 * 1000;
const clock = createManualClock(NOW);
const log = createSilentLog();
const before = (days: number) => new Date(NOW - days * DAY_MS);
const database = useDatabase();

test('payment events go by their age once they are done with; what failed, waits or was dropped stays', async () => {
  await database.query(
    `insert into provider_events (id, provider_event_id, type, happened_at, payload, status, received_at)
     select gen_random_uuid(), status || age, 'invoice.paid', $1::timestamptz, '{}', status,
       $1::timestamptz - age * interval '1 day'
     from unnest('{RECEIVED,PROCESSED,DEFERRED,FAILED,IGNORED}'::text[]) as status, unnest('{99,101}'::integer[]) as age`,
    [new Date(NOW)],
  );
  // One that an operator dropped: what it was about could be found again.
  await database.query(
    `insert into provider_events (id, provider_event_id, type, happened_at, payload, status, received_at)
     values (gen_random_uuid(), 'dropped', 'charge.dispute.updated', $1, '{}', 'FAILED', $1)`,
    [before(101)],
  );
  const dropped = await dropEvent(database, 'dropped', { reason: 'refunded', now: before(101) });
  expect(dropped).toEqual({ outcome: 'dropped' });
  // More than one step of its work.
  await database.query(
    `insert into provider_events (id, provider_event_id, type, happened_at, payload, status, received_at)
     select gen_random_uuid(), 'more' || n, 'invoice.paid', $1, '{}', 'PROCESSED', $1 from generate_series(1, 1500) as n`,
    [before(200)],
  );
  expect(await purgePaymentEvents({ database, clock, log, eventsKeepDays: 100 })).toBe(1_502);
  const left = await database.query<{ name: string }>(
    'select provider_event_id as name from provider_events order by 1',
  );
  const names =
    'DEFERRED101 DEFERRED99 FAILED101 FAILED99 IGNORED99 PROCESSED99 RECEIVED101 RECEIVED99 dropped';
  expect(left.map(({ name }) => name).join(' ')).toBe(names);
});

test('sessions, resets and fresh codes go a day after they are over, invitations after a year and a month', async () => {
  const [user, company] = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002'];
  await database.query(`insert into companies (id, name) values ($1, 'Acme')`, [company]);
  await database.query(
    `insert into users (id, company_id, email, password_hash) values ($1, $2, 'a@b.example', 'x')`,
    [user, company],
  );
  for (const days of [-1, 0.5, 2, 500]) {
    const at = before(days);
    const hash = `sha256('${days}'::bytea)`;
    await database.query(
      `insert into sessions (id, user_id, family_sha256, current_sha256, seed, client_address, user_agent, created_at,
         refreshed_at, expires_at, last_moment)
       values (gen_random_uuid(), $1, ${hash}, ${hash}, ${hash}, 'x', 'x', $2, $2, $2, $2)`,
      [user, at],
    );
    await database.query(
      `insert into password_resets (id, user_id, token_sha256, created_at, expires_at)
       values (gen_random_uuid(), $1, ${hash}, $2, $2)`,
      [user, at],
    );
    await database.query(
      `insert into email_verifications (id, user_id, token_sha256, created_at, expires_at)
       values (gen_random_uuid(), $1, ${hash}, $2, $2)`,
      [user, at],
    );
    await database.query(
      `insert into step_ups (id, user_id, grant_sha256, expires_at) values (gen_random_uuid(), $1, ${hash}, $2)`,
      [user, at],
    );
    await database.query(
      `insert into invitations (id, company_id, email, role, token_sha256, created_at, expires_at)
       values (gen_random_uuid(), $1, '${days}@b.example', 'MEMBER', ${hash}, $2, $2)`,
      [company, at],
    );
  }
  expect(await purgeExpiredTokens({ database, clock, log })).toBe(9);
  expect(await purgeExpiredTokens({ database, clock, log })).toBe(0);
  const [left] = await database.query(
    `select (select count(*) from sessions) as sessions, (select count(*) from password_resets) as resets,
       (select count(*) from invitations) as invitations, (select count(*) from step_ups) as "stepUps"`,
  );
  expect(left).toEqual({ sessions: 2n, resets: 2n, invitations: 3n, stepUps: 2n });
});
