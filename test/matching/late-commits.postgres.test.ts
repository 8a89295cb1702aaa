import { expect, test } from 'bun:test';
import { createCompanyIndexes } from '../../src/domain/matching/generator/company-index.ts';
import { workOffChanges } from '../../src/domain/matching/generator/process-changes.ts';
import { storeResults } from '../../src/domain/matching/generator/process-pairs.ts';
import { claimChanges, claimPairs, finishChanges } from '../../src/domain/matching/generator/work-queue.ts';
import { until } from '../doubles/until.ts';
import { describePostgres, usePostgres } from '../setup/use-postgres.ts';
import { openMatchingWorld } from './matching-world.ts';

describePostgres('with a server', () => {
  const database = usePostgres();

  /** Runs `change` in a transaction that stays open until `beside` waits for it, or has ended. */
  async function whileOpen(change: string, values: string[], beside: () => Promise<unknown>): Promise<void> {
    let other: Promise<unknown> = Promise.resolve();
    await database.transaction(async (transaction) => {
      await transaction.query(change, values);
      let isOver = false;
      other = beside().finally(() => {
        isOver = true;
      });
      await until(async () => {
        // Of this database alone: other tests wait for locks on the same server.
        const rows = await database.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return isOver || rows.length > 0;
      });
    });
    await other;
  }

  test('A-12 a pair that is requested again while its score is being stored is free at once', async () => {
    const world = await openMatchingWorld(database);
    await world.addJob();
    const talentId = await world.addTalent();
    await workOffChanges(world.parts, world.claim(), new AbortController().signal);
    const claim = world.claim();
    const already = (await claimPairs(database, claim)).map((pair) => ({ ...pair, weightsVersion: 0 }));
    expect(already).toHaveLength(1);
    const results = { scored: [], already, failed: [], gone: [] };
    await whileOpen('update match_pairs set weights_version = 1 where talent_id = $1', [talentId], () =>
      storeResults(database, claim.id, results, world.clock.now()),
    );
    const pairs = await database.query('select claim_id from match_pairs where talent_id = $1', [talentId]);
    expect(pairs).toEqual([{ claim_id: null }]);
    await database.query('delete from match_pairs');
  });

  test('A-12 a talent that changes while its change is being finished is free at once', async () => {
    const world = await openMatchingWorld(database);
    const talentId = await world.addTalent();
    const claim = world.claim();
    const changes = await claimChanges(database, claim);
    await whileOpen('update talents set version = 2 where id = $1', [talentId], () =>
      finishChanges(database, claim.id, changes),
    );
    const rows = await database.query('select claim_id from match_changes where subject_id = $1', [talentId]);
    expect(rows).toEqual([{ claim_id: null }]);
    await world.workOff();
  });

  test('A-12 a row that commits after a read, though it was written before it, is seen by the next read', async () => {
    const world = await openMatchingWorld(database);
    await world.addJob();
    const talentId = await world.addTalent();
    await world.workOff();
    const indexes = createCompanyIndexes({ database, clock: world.clock });
    await indexes.open(world.companyId);
    await whileOpen(
      `update match_subjects set version = 7, written_in = pg_current_xact_id() where subject_id = $1`,
      [talentId],
      async () => {
        // A later transaction commits first, and the index is read after it.
        await database.query(
          `update match_subjects set written_in = pg_current_xact_id() where kind = 'job'`,
        );
        expect((await indexes.open(world.companyId)).talents.get(talentId)?.version).toBe(1);
      },
    );
    expect((await indexes.open(world.companyId)).talents.get(talentId)?.version).toBe(7);
  });
});
