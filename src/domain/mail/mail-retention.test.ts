import { beforeEach, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { GIVE_UP_DAYS, KEEP_ADDRESS_DAYS, KEEP_DEDUPE_DAYS, purgeMail } from './mail-retention.ts';

const NOW = Date.UTC(2030, 0, 1);
const DAY_MS = 24 * 60 * 60_000;
const clock = createManualClock(NOW);
const database = useDatabase();
beforeEach(() => database.script('truncate mail_outbox'));

const daysAgo = (days: number) => new Date(NOW - days * DAY_MS);

async function waiting(name: string, createdAt: Date, rest: { expiresAt?: Date; claimedUntil?: Date } = {}) {
  await database.query(
    `insert into mail_outbox (id, kind, to_address, data, message_id, expires_at, claimed_until, created_at)
     values (gen_random_uuid(), $1, 'a@b.example', '{"token":"t"}', gen_random_uuid()::text, $2, $3, $4)`,
    [name, rest.expiresAt ?? null, rest.claimedUntil ?? null, createdAt],
  );
}

async function settled(name: string, settledAt: Date, dedupeKey: string | null = null) {
  await database.query(
    `insert into mail_outbox (id, kind, to_address, data, message_id, dedupe_sha256, state, error, created_at, settled_at)
     values (gen_random_uuid(), $1, 'a@b.example', '{}', gen_random_uuid()::text, sha256($2::text::bytea), 'FAILED', 'no', $3, $3)`,
    [name, dedupeKey, settledAt],
  );
}

async function rows(): Promise<Record<string, unknown>> {
  const found = await database.query<{ kind: string; state: string; data: unknown; to: string | null }>(
    'select kind, state, data, to_address as "to" from mail_outbox',
  );
  return Object.fromEntries(found.map(({ kind, ...rest }) => [kind, rest]));
}

test('an overdue mail is given up and its data erased; one that may still be sent is not changed', async () => {
  await waiting('new', daysAgo(GIVE_UP_DAYS - 1), { expiresAt: new Date(NOW + 1) });
  await waiting('expired', daysAgo(1), { expiresAt: new Date(NOW) });
  await waiting('old', daysAgo(GIVE_UP_DAYS));
  await waiting('being-sent', daysAgo(GIVE_UP_DAYS), { claimedUntil: new Date(NOW + 1) });
  const { log, entries } = createRecordingLog();
  expect(await purgeMail({ database, clock, log })).toEqual({ givenUp: 2, forgotten: 0, deleted: 0 });
  const kept = { state: 'WAITING', data: { token: 't' }, to: 'a@b.example' };
  const gone = { state: 'FAILED', data: {}, to: 'a@b.example' };
  expect(await rows()).toEqual({ new: kept, expired: gone, old: gone, 'being-sent': kept });
  expect(entries).toEqual([
    { level: 'warn', message: 'mails were given up: they could not be sent in time', context: { mails: 2 } },
  ]);
});

test('addresses are erased after a month; a dedupe key lasts longer, and not for ever', async () => {
  await settled('yesterday', daysAgo(1));
  await settled('month', daysAgo(KEEP_ADDRESS_DAYS));
  await settled('month-with-key', daysAgo(KEEP_ADDRESS_DAYS), 'a');
  await settled('years-with-key', daysAgo(KEEP_DEDUPE_DAYS), 'b');
  await purgeMail({ database, clock, log: createSilentLog() });
  expect(await rows()).toEqual({
    yesterday: { state: 'FAILED', data: {}, to: 'a@b.example' },
    'month-with-key': { state: 'FAILED', data: {}, to: null },
  });
});
