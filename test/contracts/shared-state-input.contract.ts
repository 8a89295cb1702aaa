import { expect, test } from 'bun:test';
import type { SharedState } from '../../src/ports/shared-state.ts';
import { failureOf, ignore } from './shared-state.contract.ts';

export function inputContract(given: () => SharedState): void {
  const window = { kind: 'window', name: 'w', amount: 1, limit: 5, windowMs: 1_000 } as const;
  const held = {
    kind: 'held',
    name: 'h',
    entry: 'e',
    amount: 1,
    limit: 5,
    ttlMs: 1_000,
    rule: 'fits',
  } as const;
  const wrong = [
    ...[Number.NaN, 0.5, -1, 2 ** 53, Number.POSITIVE_INFINITY, '1' as unknown as number].flatMap((bad) => [
      { ...window, amount: bad },
      { ...held, amount: bad },
      { ...window, windowMs: bad },
      { ...held, ttlMs: bad },
      { ...held, limit: { level: 'l', maxAgeMs: bad } },
    ]),
    ...[Number.NaN, 0.5, Number.POSITIVE_INFINITY].flatMap((bad) => [
      { ...window, limit: bad },
      { ...held, limit: bad },
    ]),
    { ...window, windowMs: 0 },
    { ...window, name: '' },
    { ...held, entry: '' },
    { ...held, limit: { level: '', maxAgeMs: 1 } },
  ];

  test('a claim with a number or a name that cannot be is refused, and so are its neighbours', async () => {
    for (const claim of wrong) {
      const failure = await failureOf(given().reserve('wrong', [{ ...window, name: 'neighbour' }, claim]));
      expect(failure.reason).toBe('refused');
    }
    const untouched = await given().reserve('wrong', [{ ...window, name: 'neighbour' }]);
    expect(untouched.outcome === 'reserved' && untouched.standings[0]?.used).toBe(1);
  });

  test('one counter claimed twice in a call, too many claims and a tag with braces are refused', async () => {
    const many = Array.from({ length: 33 }, (_, index) => ({ ...window, name: `${index}` }));
    for (const claims of [[window, window], [held, { ...held, entry: 'other' }], many]) {
      expect((await failureOf(given().reserve('wrong', claims))).reason).toBe('refused');
    }
    for (const tag of ['', 'a}b', '{']) {
      expect((await failureOf(given().reserve(tag, [window]))).reason).toBe('refused');
      expect((await failureOf(given().settle(tag, []))).reason).toBe('refused');
    }
  });

  test('a settlement, a value and a topic that cannot be are refused', async () => {
    const state = given();
    const calls: Promise<unknown>[] = [
      state.settle('wrong', [{ kind: 'window', name: 'w', windowStart: 1, delta: Number.NaN }]),
      state.settle('wrong', [{ kind: 'window', name: 'w', windowStart: -1, delta: 1 }]),
      state.settle('wrong', [{ kind: 'renew', name: 'h', entry: 'e', ttlMs: 0 }]),
      state.settle('wrong', [{ kind: 'release', name: 'h', entry: '' }]),
      state.settle('wrong', [{ kind: 'level', name: 'l', value: 0.5, version: 1, ttlMs: 1 }]),
      state.settle('wrong', [{ kind: 'level', name: 'l', value: 1, version: Number.NaN, ttlMs: 1 }]),
      state.set('v', 'text', Number.NaN),
      state.set('', 'text', 1),
      state.set('v', 7 as unknown as string, 1),
      state.setIfAbsent('v', 'text', -1),
      state.get(''),
      state.publish('', 'm'),
      state.publish('t', 7 as unknown as string),
      state.subscribe('', ignore, ignore),
    ];
    for (const failure of await Promise.all(calls.map(failureOf))) expect(failure.reason).toBe('refused');
  });
}
