import { expect, test } from 'bun:test';
import { describePostgres, usePostgres } from '../setup/use-postgres.ts';
import { openMeetings, serverEvents, T0 } from './meetings-under-test.ts';

describePostgres('with a server', () => {
  const database = usePostgres();

  test('A-7 all events of a meeting at once, each twice, and the announcement among them: one meeting', async () => {
    const world = await openMeetings(database);
    await world.clock.advance(300_000);
    for (let round = 0; round < 5; round += 1) {
      const room = `at-once-${round}`;
      const events = serverEvents(room, T0 + 60, T0 + 290 + round);
      const posts = [...events, ...events].map(({ path, body }) => world.post(path, body));
      const [announced, ...answers] = await Promise.all([world.announce(room), ...posts]);
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
      expect(answers.filter(({ body }) => body.repeated === false)).toHaveLength(events.length);
      await world.workOff();
      const meetings = await world.meetings(room);
      expect(meetings).toHaveLength(1);
      // An announcement that comes after the first event is refused, and nothing of the meeting is the company's.
      expect(meetings[0]).toMatchObject(
        announced.outcome === 'announced'
          ? { origin: 'announced', companyId: world.companyId }
          : { origin: 'room', companyId: null },
      );
      expect(['announced', 'used-unannounced']).toContain(announced.outcome);
      expect(meetings[0]?.insight).toMatchObject({ status: 'held', durationSeconds: 230 + round });
    }
  });
});
