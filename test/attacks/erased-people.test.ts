import { expect, test } from 'bun:test';
import { fillWithPerson, MARKERS } from '../erasure/marked-person.ts';
import { OF_MEMBERS, OF_NOBODY, OF_TALENTS } from '../erasure/personal-tables.ts';
import { listTables, searchFiles, searchRedis, searchTables } from '../erasure/search.ts';
import { openSearchedSystem } from '../erasure/searched-system.ts';
import { givenRedis } from '../services/given.ts';
import { useRedis } from '../setup/use-redis.ts';
import { useResource } from '../setup/use-resource.ts';

const redis = useRedis();
const prefix = redis.newPrefix();
const system = useResource(async () => {
  const sharedState = givenRedis() === null ? null : await redis.open({ prefix });
  return await openSearchedSystem(sharedState);
});
const ERASE = 'mutation($id: ID!) { eraseTalent(id: $id) }';

/** Ids alone, which lead nowhere any more. */
const KEEP_IDS = {
  audit_log: 'that somebody was uploaded, changed and erased',
  erased_meetings: 'which reports of the meeting server are dropped, for 400 days',
  match_subjects: 'which vectors the processes drop from memory, for an hour',
  'pgboss.job': 'jobs, until a day after their end',
};

test('P-15 every table has a place in the lists of the tables with data of people', async () => {
  const listed = new Set([...OF_TALENTS, ...OF_MEMBERS, ...OF_NOBODY.flatMap(({ tables }) => tables)]);
  // A new table: decide in test/erasure/personal-tables.ts whether data of people goes there, and erase it then.
  expect([...listed].toSorted()).toEqual([...(await listTables(system.database))].toSorted());
});

test('P-15 after erasure no table, key or file has data of the person, nor of the records they were matched with', async () => {
  const { admin, otherAdmin } = system.backend.people;
  const { talentIds, meetingIds, bystanderId } = await fillWithPerson(system);
  const ids = [...talentIds, ...meetingIds];
  const before = await searchTables(system.database, [...MARKERS, ...ids]);
  expect(Object.keys(before).toSorted()).toEqual([...OF_TALENTS].toSorted());
  const [, secondId = ''] = talentIds;
  const waiting = await system.waitingMails();
  expect(waiting.map(({ kind }) => kind).toSorted()).toEqual(['meeting-summary', 'scorecard-reminder']);
  expect((await otherAdmin.refusal(ERASE, { id: secondId })).extensions.code).toBe('NOT_FOUND');

  expect(await admin.ask(ERASE, { id: secondId })).toEqual({ eraseTalent: true });
  for (const { id } of waiting) await system.run('mail', { mailId: id });
  await system.flushLog();
  expect(await searchTables(system.database, MARKERS)).toEqual({});
  expect(Object.keys(await searchTables(system.database, ids)).toSorted()).toEqual(
    Object.keys(KEEP_IDS).toSorted(),
  );
  if (givenRedis() !== null) expect(await searchRedis(prefix, [...MARKERS, ...ids])).toEqual({});
  // Whoever was sent a mail has it.
  const files = Object.keys(await searchFiles(system.folder, MARKERS));
  expect(files).toEqual([expect.stringMatching(/^mail\/.*\.eml$/)]);
  const left = await system.database.query(`select id, profile ->> 'basics' as basics from talents`);
  expect(left).toEqual([{ id: bystanderId, basics: '{"name": "Bea Bystander"}' }]);
});
