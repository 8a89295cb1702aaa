import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { letterVectors } from '../matching/matching-world.ts';
import { type AiServiceUnderTest, openAiService, TOKEN } from './ai-service-under-test.ts';

const GENERATOR = '/api/v1/background-tasks/match-score-generator';
const UNKNOWN_ID = '019a0000-0000-7000-8000-00000000dead';

let service: AiServiceUnderTest;
let gate = Promise.withResolvers<void>();
gate.resolve();
beforeAll(async () => {
  const embed: typeof letterVectors.embed = async (call) => {
    await gate.promise;
    return await letterVectors.embed(call);
  };
  service = await openAiService({ modelCalls: { ...letterVectors, embed } });
});
afterAll(() => service.close());

const post = (path: string, body?: unknown) => service.ask(path, { method: 'POST', body });
const server = (changes: Readonly<Record<string, unknown>>) => {
  const now = Math.floor(service.clock.now() / 1_000);
  return {
    event_name: 'muc-room-destroyed',
    room_name: 'far',
    created_at: now - 60,
    destroyed_at: now,
    ...changes,
  };
};

describe('responses to bad input', () => {
  test('A-7 a room that was not announced: 202, so that it is not sent again; an unknown meeting: 404', async () => {
    const body = {
      event: 'room_created',
      room: 'unknown',
      timestamp: new Date(service.clock.now()).toISOString(),
    };
    const taken = await post('/api/events/room/created', body);
    expect([taken.status, taken.body.repeated]).toEqual([202, false]);
    const transcript = { text: 'Ada: Hello.' };
    const unannounced = await post(`/api/meetings/${taken.body.meeting_id}/transcript`, transcript);
    expect([unannounced.status, unannounced.body.error.message]).toEqual([
      409,
      expect.stringContaining('createMeeting'),
    ]);
    for (const id of [UNKNOWN_ID, 'unknown', `${UNKNOWN_ID}%00`]) {
      const { status, body: refused } = await post(`/api/meetings/${id}/transcript`, transcript);
      expect([status, refused.error.type, refused.error.param]).toEqual([404, 'not_found_error', 'id']);
    }
  });

  test('A-7 events of another name are 422, invalid times 400; bodies past the bound 413, and not sent again', async () => {
    for (const [changes, param] of [
      [{ event_name: 'muc-room-renamed' }, 'event_name'],
      [{ event_name: 'muc-room-created' }, 'event_name'],
    ] as const) {
      const { status, body } = await post('/api/events/room/destroyed', server(changes));
      expect([status, body.error.type, body.error.param]).toEqual([422, 'invalid_request_error', param]);
    }
    for (const destroyed_at of [null, -1, 1e18, 'yesterday', '']) {
      const { status, body } = await post('/api/events/room/destroyed', server({ destroyed_at }));
      expect([destroyed_at, status, body.error.param]).toEqual([destroyed_at, 400, 'destroyed_at']);
    }
    const large = server({ more: 'x'.repeat(1024 * 1024) });
    const refused = await post('/api/events/room/destroyed', large);
    expect([refused.status, refused.body.error.message]).toEqual([413, expect.stringContaining('1048576')]);
    const long = await post(`/api/meetings/${UNKNOWN_ID}/transcript`, { text: 'x'.repeat(500_001) });
    expect([long.status, long.body.error.param]).toEqual([400, 'text']);
    expect(
      (await post(`/api/meetings/${UNKNOWN_ID}/transcript`, { text: 'x'.repeat(2_100_000) })).status,
    ).toBe(413);
  });

  test('A-7 a body that does not arrive in time, or breaks off, is a 503, so that it is sent again', async () => {
    const stopped = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array([123])) });
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('cut')) });
    for (const body of [stopped, broken]) {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const asked = service.app.request('/api/events/room/created', { method: 'POST', headers, body });
      let answered: Response | null = null;
      void Promise.resolve(asked).then((response) => {
        answered = response;
      });
      await until(async () => {
        await service.clock.advance(5_000);
        return answered !== null;
      });
      const response = await asked;
      const { error } = (await response.json()) as { error: { type: string } };
      expect([response.status, error.type]).toEqual([503, 'api_error']);
    }
  });

  test('A-10 a start while it is stopping reverts the stop: the batch continues, and so do the next ones', async () => {
    const { world, database } = service;
    const scores = async () => (await database.query('select 1 from match_scores')).length;
    gate = Promise.withResolvers();
    await world.addJob();
    await world.addTalent();
    const status = async () => (await service.ask(`${GENERATOR}/status`)).body;
    await until(async () => {
      await service.clock.advance(1_000);
      return (await status()).status === 'processing';
    });
    const stopping = await post(`${GENERATOR}/stop`);
    expect([stopping.status, stopping.body]).toMatchObject([
      200,
      { status: 'processing', desired_state: 'stopped' },
    ]);
    const started = await post(`${GENERATOR}/start`);
    expect([started.status, started.body]).toMatchObject([
      200,
      { status: 'processing', desired_state: 'running' },
    ]);
    gate.resolve();
    await until(async () => {
      await service.clock.advance(1_000);
      return (await scores()) === 1;
    });
    await world.addTalent();
    await until(async () => {
      await service.clock.advance(1_000);
      return (await scores()) === 2;
    });
    expect(await status()).toMatchObject({ desired_state: 'running' });
  });
});
