import { expect, test } from 'bun:test';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { until } from '../doubles/until.ts';
import { describeServers } from '../setup/use-redis.ts';
import { useResource } from '../setup/use-resource.ts';
import { callMany, expectCharged, notWhole, type SeenCall } from './credit-clients.ts';
import { openCreditWorld } from './credit-world.ts';

const KILLS = 4;
const PARALLEL = 200;
const KILLS_IN_AN_OUTAGE = 2;

describeServers('G-33 kill -9 of a gateway under 200 parallel calls', () => {
  const world = useResource(() => openCreditWorld());
  const seen: SeenCall[] = [];

  /** What PostgreSQL was still at, or had not yet read, when its client died has been done. */
  async function isLeftByGateways(): Promise<boolean> {
    const left = `select 1 from pg_stat_activity
      where datname = current_database() and application_name = 'turnpike gateway'`;
    return (await world.database.query(left)).length === 0;
  }

  test('four times: a completely received call is charged once, none twice, of others at most those in flight', async () => {
    const random = createSeededRandom(20);
    world.answerAfter(() => 20 + random.below(300));
    let unseenBefore = 0;
    const figures: string[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const gateway = await world.startGateway();
      const killAfter = 1 + random.below(PARALLEL - 10);
      let answered = 0;
      const calling = callMany(PARALLEL, gateway.url, world.rawKey, () => {
        answered += 1;
        if (answered === killAfter) gateway.signal('SIGKILL');
      });
      const calls = await calling;
      await gateway.exited;
      seen.push(...calls);
      await until(isLeftByGateways);
      const unseen = (await expectCharged(world, seen)) - unseenBefore;
      const whole = calls.filter(({ isWhole }) => isWhole).length;
      expect(unseen).toBeGreaterThanOrEqual(0);
      expect(unseen).toBeLessThanOrEqual(PARALLEL - whole);
      unseenBefore += unseen;
      figures.push(`${whole}+${unseen}`);
    }
    console.log(`seen whole + charged and unseen, of ${PARALLEL}: ${figures.join(' ')}`);
    // The kills came at moments that matter: some calls were through and some were not.
    const whole = seen.filter(({ isWhole }) => isWhole).length;
    expect(whole).toBeGreaterThan(KILLS);
    expect(whole).toBeLessThan(KILLS * PARALLEL);
  });

  test('while the database is unavailable: answered calls are charged after the next start', async () => {
    world.answerAfter(() => 10);
    const env = { COMMIT_DEADLINE_MS: '200' };
    for (let kill = 0; kill < KILLS_IN_AN_OUTAGE; kill += 1) {
      const gateway = await world.startGateway(env);
      seen.push(...(await callMany(10, gateway.url, world.rawKey)));
      world.toDatabase.hold();
      const journaled = await callMany(PARALLEL, gateway.url, world.rawKey);
      if (notWhole(journaled).length) console.log(gateway.output().slice(-3000));
      expect(notWhole(journaled)).toEqual([]);
      const calling = callMany(PARALLEL, gateway.url, world.rawKey);
      await Bun.sleep(30 + kill * 30);
      gateway.signal('SIGKILL');
      seen.push(...journaled, ...(await calling));
      await gateway.exited;
      const [left, ...others] = world.journalFiles();
      expect(left).toBeDefined();
      expect(others).toEqual([]);
      world.toDatabase.release();
      await until(isLeftByGateways);
      const next = await world.startGateway(env);
      await until(() => !world.journalFiles().includes(left ?? ''));
      await expectCharged(world, seen);
      next.signal('SIGTERM');
      expect(await next.exited).toBe(0);
      expect(world.journalFiles()).toEqual([]);
    }
  });
});
