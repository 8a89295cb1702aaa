import { expect, test } from 'bun:test';
import { createMeetingHandler } from '../../src/domain/meetings/process-meeting.ts';
import type { Transaction } from '../../src/ports/database.ts';
import { Crash, crashingDatabase } from '../doubles/crashing-database.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { useDatabase } from '../setup/use-database.ts';
import { openMeetings, serverEvents, T0 } from './meetings-under-test.ts';

const database = useDatabase();
const TRANSCRIPT = 'Ada: I will send the exercise by Friday.\nBob: Good, then we decide on Monday.';
const ANSWER = JSON.stringify({ summary: ['They met.'], decisions: [], actionItems: [], questions: [] });

test('A-13 G-28 killed at every statement, a transcript is summarised once and its call charged once', async () => {
  await database.script('create table charges (meeting text)');
  let meetingId = '';
  const model = {
    ask: async () => ({
      answer: ANSWER,
      charge: async (transaction: Transaction) =>
        void (await transaction.query('insert into charges values ($1)', [meetingId])),
      release: async () => {},
    }),
  };
  const world = await openMeetings(database);
  const { clock, jobQueue, waiting } = world;
  const own = { clock, jobQueue, model, log: createSilentLog(), remind: async () => {} };
  const { signal } = new AbortController();
  let crashes = 0;
  for (let at = 0, isOver = false; !isOver; at += 1) {
    const announced = await world.announce(`killed ${at}`);
    meetingId = announced.outcome === 'announced' ? announced.meeting.id : '';
    for (const { path, body } of serverEvents(`killed ${at}`, T0, T0 + 600)) await world.post(path, body);
    await world.workOff();
    await world.post(`meetings/${meetingId}/transcript`, { text: TRANSCRIPT });
    const job = { id: 'job', data: waiting.at(-1)?.data ?? {}, attempt: 1, signal };
    isOver = true;
    for (const when of ['before', 'after'] as const) {
      const crashing = crashingDatabase(database, { at, when }).database;
      const handler = createMeetingHandler({ ...own, database: crashing });
      const thrown = await handler(job).catch((error: unknown) => error);
      if (!(thrown instanceof Crash)) continue;
      isOver = false;
      crashes += 1;
    }
    await createMeetingHandler({ ...own, database })(job);
    const [meeting] = await world.meetings(`killed ${at}`);
    expect(meeting?.insight?.summary).toMatchObject({ engine: 'model', summary: ['They met.'] });
    const charges = await database.query('select 1 from charges where meeting = $1', [meetingId]);
    expect(charges).toHaveLength(1);
  }
  expect(crashes).toBeGreaterThan(6);
});
