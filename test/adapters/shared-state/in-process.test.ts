import { describe, expect, test } from 'bun:test';
import { createExpiringMap } from '../../../src/adapters/shared-state/in-process/expiring-maps.ts';
import { createInProcessState } from '../../../src/adapters/shared-state/in-process.ts';
import { sharedStateContract } from '../../contracts/shared-state.contract.ts';
import { levelsContract } from '../../contracts/shared-state-levels.contract.ts';
import { windowsContract } from '../../contracts/shared-state-windows.contract.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { stoppedClock } from '../../doubles/stopped-clock.ts';

const HOUR_MS = 3_600_000;

async function open() {
  const state = createInProcessState({ clock: stoppedClock, log: createSilentLog() });
  return { state, advance: state.advance, close: () => state.close() };
}

sharedStateContract('in process', open);
windowsContract('in process', open);
levelsContract('in process', open);

describe('in process', () => {
  test('a step has one time, however long it takes: all its windows begin and end together', async () => {
    let nowMs = 1_000_000;
    const clock = { ...stoppedClock, uptimeMs: () => nowMs++ };
    const state = createInProcessState({ clock, log: createSilentLog() });
    const claim = { kind: 'window', amount: 1, limit: 9, windowMs: 60_000 } as const;
    const reserved = await state.reserve('tag', [
      { ...claim, name: 'requests' },
      { ...claim, name: 'tokens' },
    ]);
    if (reserved.outcome !== 'reserved') throw new Error(reserved.outcome);
    expect(reserved.limitStates.map(({ resetMs }) => resetMs)).toEqual([60_000, 60_000]);
    expect(new Set(reserved.limitStates.map(({ bucket }) => bucket)).size).toBe(1);
    await state.close();
  });

  test('a window is full to its last millisecond and free at the next', async () => {
    const { state, advance } = await open();
    const claim = { kind: 'window', name: 'rpm', amount: 1, limit: 1, windowMs: 60_000 } as const;
    await state.reserve('t', [claim]);
    advance(1);
    expect(await state.reserve('t', [claim])).toMatchObject({ outcome: 'refused', retryAfterMs: 59_999 });
    advance(59_998);
    expect(await state.reserve('t', [claim])).toMatchObject({ outcome: 'refused', retryAfterMs: 1 });
    advance(1);
    expect(await state.reserve('t', [claim])).toMatchObject({ outcome: 'reserved' });
  });

  test('a system clock that is set ahead and back changes no window, value or level', async () => {
    const clock = createManualClock();
    const state = createInProcessState({ clock, log: createSilentLog() });
    const claim = { kind: 'window', name: 'rpm', amount: 1, limit: 1, windowMs: 60_000 } as const;
    clock.step(HOUR_MS);
    await state.reserve('t', [claim]);
    await state.set('lock', 'process 1', 30_000);
    clock.step(-2 * HOUR_MS);
    expect(await state.reserve('t', [claim])).toMatchObject({ outcome: 'refused', retryAfterMs: 60_000 });
    await clock.advance(60_000);
    expect(await state.reserve('t', [claim])).toMatchObject({ outcome: 'reserved' });
    expect(await state.get('lock')).toBeNull();
    await state.close();
  });

  test('expired entries are removed while the map is used, live ones stay', () => {
    let now = 0;
    const map = createExpiringMap<{ until: number }>({ now: () => now, expiresAt: (value) => value.until });
    map.set('for ever', { until: Number.POSITIVE_INFINITY });
    for (let count = 0; count < 100_000; count += 1) {
      now = count;
      map.set(`${count}`, { until: now + 100 });
      expect(map.size).toBeLessThan(1_000);
    }
    expect(map.get('for ever')).toBeDefined();
    expect(map.get('99999')).toBeDefined();
    expect(map.get('99000')).toBeUndefined();
  });
});
