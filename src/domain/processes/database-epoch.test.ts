import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { openMemoryDatabase } from '../../../test/doubles/memory-database.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { withGapSignal } from '../../adapters/shared-state/gap-signal.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { Database } from '../../ports/database.ts';
import { startDatabaseEpoch } from './database-epoch.ts';

interface Row {
  readonly epoch: string;
  readonly position: bigint;
}

describe('a database that went back in time', () => {
  const secrets = createSystemSecrets();
  let database: Database;
  beforeAll(async () => {
    database = await openMemoryDatabase();
  });
  afterAll(() => database.close());
  let clock = createManualClock();
  let state = createInProcessState({ clock });
  beforeEach(() => {
    clock = createManualClock();
    state = createInProcessState({ clock });
  });

  async function read(): Promise<Row> {
    const [row] = await database.query<Row>('select epoch, position from database_epoch');
    if (row === undefined) throw new Error('there is no epoch');
    return row;
  }
  const restore = ({ epoch, position }: Row) =>
    database.query('update database_epoch set epoch = $1, position = $2', [epoch, position]);

  async function start() {
    const { log, entries } = createRecordingLog();
    const sharedState = withGapSignal(state);
    let drops = 0;
    await sharedState.subscribe(
      'keys',
      () => {},
      () => (drops += 1),
    );
    const { position } = await read();
    const epoch = startDatabaseEpoch({
      database,
      sharedState,
      clock,
      secrets,
      log,
      onStepBack: sharedState.signalGap,
    });
    await until(async () => (await read()).position > position);
    await settled();
    return { epoch, drops: () => drops, said: () => entries.filter(({ level }) => level === 'error').length };
  }
  /** Statements run one after the other here, so each of these lets a check come one further. */
  async function settled() {
    for (let statement = 0; statement < 6; statement += 1) await database.query('select 1');
  }
  async function nextCheck() {
    const { position } = await read();
    await clock.advance(5_000);
    await until(async () => (await read()).position > position);
    await settled();
  }

  test('is detected by every process, once, and by one that starts afterwards with the same shared state', async () => {
    const [one, other] = [await start(), await start()];
    const backup = await read();
    for (let check = 0; check < 3; check += 1) await nextCheck();
    expect([one.drops(), other.drops()]).toEqual([0, 0]);
    const before = await read();
    await restore(backup);
    await nextCheck();
    await nextCheck();
    expect([one.epoch.stepBacks(), other.epoch.stepBacks()]).toEqual([1, 1]);
    expect([one.drops(), other.drops(), one.said(), other.said()]).toEqual([1, 1, 1, 1]);
    expect((await read()).epoch).not.toBe(before.epoch);
    await Promise.all([one.epoch.close(), other.epoch.close()]);
    // Back to the first backup, of an earlier epoch, while no process runs.
    await restore(backup);
    const late = await start();
    expect([late.epoch.stepBacks(), late.drops()]).toEqual([1, 1]);
    await late.epoch.close();
  });

  test('is detected by a credit level that went back, at most once a minute', async () => {
    const { epoch, drops } = await start();
    const before = await read();
    for (let company = 0; company < 5; company += 1) epoch.suspect({ tag: `company-${company}` });
    await until(async () => (await read()).epoch !== before.epoch);
    await settled();
    expect([epoch.stepBacks(), drops()]).toEqual([1, 1]);
    await nextCheck();
    expect(epoch.stepBacks()).toBe(1);
    await epoch.close();
  });

  test('shared state that has lost the position is no evidence', async () => {
    const { epoch } = await start();
    await state.delete('database-epoch');
    await nextCheck();
    await nextCheck();
    expect(epoch.stepBacks()).toBe(0);
    await epoch.close();
  });
});
