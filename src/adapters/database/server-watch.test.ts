import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { databaseFailure } from './failure.ts';
import { createServerWatch } from './server-watch.ts';

function given() {
  const clock = createManualClock();
  const probes: PromiseWithResolvers<unknown>[] = [];
  const heard: string[] = [];
  const watch = createServerWatch({
    time: clock,
    probe() {
      probes.push(Promise.withResolvers());
      return probes.at(-1)?.promise ?? Promise.reject();
    },
    onSilent: () => void heard.push('silent'),
    onAnswering: () => void heard.push('answering'),
  });
  const send = (failsFast = false) => {
    const statement = Promise.withResolvers<string>();
    const outcome = watch.follow(statement.promise, failsFast).catch((error: Error) => error.message);
    return { ...statement, outcome };
  };
  /** As a database whose server was paused. */
  const silence = async () => {
    const first = send();
    await clock.advance(2_000);
    expect(watch.isSilent()).toBe(true);
    return first;
  };
  return { clock, watch, probes, heard, send, silence };
}

describe('whether the server answers', () => {
  test('two seconds without any answer are silence, and what a request waits for fails then', async () => {
    const { clock, watch, probes, heard, send } = given();
    const [patient, impatient] = [send(), send(true)];
    await clock.advance(1_999);
    expect([watch.isSilent(), probes.length]).toEqual([false, 1]);
    await clock.advance(1);
    expect([watch.isSilent(), heard]).toEqual([true, ['silent']]);
    expect(await impatient.outcome).toBe(watch.failure().message);
    patient.resolve('late');
    expect(await patient.outcome).toBe('late');
    expect([watch.isSilent(), heard]).toEqual([false, ['silent', 'answering']]);
  });

  test('a slow statement is no silence while others, or the probe, are answered', async () => {
    const { clock, watch, probes, heard, send } = given();
    send();
    for (let second = 0; second < 10; second += 1) {
      await clock.advance(900);
      send().resolve('quick');
    }
    expect(probes).toHaveLength(0);
    await clock.advance(1_500);
    expect(probes).toHaveLength(1);
    probes[0]?.resolve(1);
    await clock.advance(900);
    expect([watch.isSilent(), heard]).toEqual([false, []]);
  });

  test('one probe at a time waits for the server, and a lost one is sent again', async () => {
    const { clock, watch, probes, heard, silence } = given();
    await silence();
    await clock.advance(60_000);
    expect(probes).toHaveLength(1);
    probes[0]?.reject(databaseFailure('time-out', 'no answer'));
    await clock.advance(500);
    expect([probes.length, watch.isSilent()]).toEqual([2, true]);
    probes[1]?.resolve(1);
    await clock.advance(0);
    expect([watch.isSilent(), heard]).toEqual([false, ['silent', 'answering']]);
  });

  test('a refusal is an answer: statements then fail by themselves, with their own reason', async () => {
    for (const failure of [
      databaseFailure('unavailable', 'Failed to connect'),
      databaseFailure('unavailable', 'too many connections', { sqlState: '53300' }),
    ]) {
      const { clock, watch, probes, silence } = given();
      await silence();
      probes[0]?.reject(failure);
      await clock.advance(0);
      expect(watch.isSilent()).toBe(false);
    }
  });

  test('a connection that was never established, or a statement past its time-out, is none', async () => {
    const { clock, watch, probes, silence } = given();
    const first = await silence();
    const cause = Object.assign(new Error('no'), { code: 'ERR_POSTGRES_CONNECTION_TIMEOUT' });
    probes[0]?.reject(databaseFailure('unavailable', 'no', { cause }));
    first.reject(databaseFailure('time-out', 'too long'));
    await clock.advance(400);
    expect(watch.isSilent()).toBe(true);
  });

  test('an idle process asks nothing', async () => {
    const { clock, probes, send } = given();
    send().resolve('done');
    await clock.advance(60_000);
    expect(probes).toHaveLength(0);
  });
});
