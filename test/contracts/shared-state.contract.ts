import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { SharedState, SharedStateFailure } from '../../src/ports/shared-state.ts';
import { until } from '../doubles/until.ts';
import { claimsContract } from './shared-state-claims.contract.ts';
import { heldContract } from './shared-state-held.contract.ts';
import { inputContract } from './shared-state-input.contract.ts';

export interface SharedStateUnderTest {
  state: SharedState;
  /** Moves the state's time on. */
  advance(ms: number): void;
  close(): Promise<void>;
}

/** What every adapter of shared state keeps. `open` gives one that is empty and that nobody else uses. */
export function sharedStateContract(name: string, open: () => Promise<SharedStateUnderTest>): void {
  describe(`shared-state contract: ${name}`, () => {
    let under: SharedStateUnderTest;
    beforeAll(async () => {
      under = await open();
    });
    afterAll(() => under.close());

    claimsContract(() => under);
    heldContract(() => under);
    valuesExpire(() => under);
    messagesArrive(() => under.state);
    inputContract(() => under.state);

    test('a closed state refuses everything and can be closed twice', async () => {
      const { state, close } = await open();
      await close();
      await close();
      const calls: Promise<unknown>[] = [
        state.reserve('t', []),
        state.settle('t', []),
        state.get('k'),
        state.set('k', 'v', 1),
        state.setIfAbsent('k', 'v', 1),
        state.delete('k'),
        state.publish('t', 'm'),
        state.subscribe('t', ignore, ignore),
        state.check(),
      ];
      for (const failure of await Promise.all(calls.map(failureOf))) {
        expect(failure).toMatchObject({ reason: 'unavailable', message: expect.stringContaining('closed') });
      }
    });
  });
}

export async function failureOf(work: Promise<unknown>): Promise<SharedStateFailure> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ name: 'SharedStateFailure' });
  return error as SharedStateFailure;
}

export function ignore(): void {}

function valuesExpire(given: () => SharedStateUnderTest): void {
  const texts = ['', ' 7 leading', '12', 'é€😀', 'a\u0000b\r\n$3\r\n', 'x'.repeat(100_000)];

  test('every text comes back as it was set', async () => {
    const { state } = given();
    for (const text of texts) {
      await state.set('text', text, 60_000);
      expect(await state.get('text')).toBe(text);
    }
    await state.delete('text');
    expect(await state.get('text')).toBeNull();
    expect(await state.get('never set')).toBeNull();
  });

  test('a value ends with its time to live, and setting it again begins anew', async () => {
    const { state, advance } = given();
    await state.set('short', 'a', 60_000);
    advance(30_000);
    expect(await state.get('short')).toBe('a');
    await state.set('short', 'b', 60_000);
    advance(45_000);
    expect(await state.get('short')).toBe('b');
    advance(15_000);
    expect(await state.get('short')).toBeNull();
  });

  test('setIfAbsent leaves a living value alone and takes the place of a dead one', async () => {
    const { state, advance } = given();
    expect(await state.setIfAbsent('once', '1', 60_000)).toBe(true);
    expect(await state.setIfAbsent('once', '2', 600_000)).toBe(false);
    expect(await state.get('once')).toBe('1');
    advance(60_000);
    expect(await state.setIfAbsent('once', '3', 60_000)).toBe(true);
    expect(await state.get('once')).toBe('3');
    await state.delete('once');
    expect(await state.setIfAbsent('once', '4', 60_000)).toBe(true);
  });
}

function messagesArrive(given: () => SharedState): void {
  test('messages reach every listener of their topic, in order, and nobody else', async () => {
    const state = given();
    const [first, second, other]: string[][] = [[], [], []];
    const open = [
      await state.subscribe('news', (message) => first?.push(message), ignore),
      await state.subscribe('news', (message) => second?.push(message), ignore),
      await state.subscribe('news of others', (message) => other?.push(message), ignore),
    ];
    const sent = ['a', '', 'é€😀\u0000\r\n', 'x'.repeat(256 * 1024)];
    for (const message of sent) await state.publish('news', message);
    await state.publish('nobody listens', 'x');
    await until(() => first?.length === 4 && second?.length === 4);
    expect(first).toEqual(sent);
    expect(second).toEqual(sent);
    expect(other).toEqual([]);
    for (const subscription of open) await subscription.close();
  });

  test('a listener that left hears no more, one that came back hears again', async () => {
    const state = given();
    const heard: string[] = [];
    const witness: string[] = [];
    const staying = await state.subscribe('rooms', (message) => witness.push(message), ignore);
    const leaving = await state.subscribe('rooms', (message) => heard.push(message), ignore);
    await leaving.close();
    await leaving.close();
    await state.publish('rooms', '1');
    await until(() => witness.length === 1);
    await staying.close();
    // The last listener has left, so that the topic itself is taken up anew.
    const back = await state.subscribe('rooms', (message) => heard.push(message), ignore);
    await state.publish('rooms', '2');
    await until(() => heard.length === 1);
    expect(heard).toEqual(['2']);
    expect(witness).toEqual(['1']);
    await back.close();
  });

  test('a listener hears nothing from the moment it closes, not even what is on its way', async () => {
    const state = given();
    const heard: string[] = [];
    const witness: string[] = [];
    const leaving = await state.subscribe('leaving', (message) => heard.push(message), ignore);
    const staying = await state.subscribe('leaving', (message) => witness.push(message), ignore);
    const publishing = state.publish('leaving', 'm');
    const closing = leaving.close();
    await Promise.all([publishing, closing, until(() => witness.length === 1)]);
    expect(heard).toEqual([]);
    await staying.close();
  });

  test('a handler that throws harms neither other handlers nor the publisher, and gets the next message', async () => {
    const state = given();
    const heard: string[] = [];
    let thrown = 0;
    const throwing = await state.subscribe('loud', fail, ignore);
    function fail(): void {
      thrown += 1;
      throw new Error('a handler failed on purpose');
    }
    const calm = await state.subscribe('loud', (message) => heard.push(message), ignore);
    await state.publish('loud', '1');
    await state.publish('loud', '2');
    await until(() => heard.length === 2 && thrown === 2);
    await throwing.close();
    await calm.close();
  });

  test('no handler runs in the stack of its publisher', async () => {
    const state = given();
    let heard = false;
    const subscription = await state.subscribe('stack', () => (heard = true), ignore);
    const publishing = state.publish('stack', 'm');
    expect(heard).toBe(false);
    await publishing;
    await until(() => heard);
    await subscription.close();
  });

  test('a message of more than 256 KiB is refused, counted in bytes', async () => {
    const tooLong = await failureOf(given().publish('big', '€'.repeat(90_000)));
    expect(tooLong.reason).toBe('refused');
    expect(tooLong.message).toContain('270000 bytes');
  });
}
