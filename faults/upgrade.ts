import { freshDatabase } from '../test/services/fresh-database.ts';
import type { CreditWorld } from '../test/system/credit-world.ts';
import { type Checkout, checkOut, oldRevision } from './frame/commits.ts';
import { holds } from './frame/expect.ts';
import type { FaultCase, Lab } from './frame/fault-case.ts';
import { type Host, hostsAnswer, openHost, originOf } from './frame/host.ts';
import { refusedOf, type TimedCall, tally } from './frame/load.ts';

export const upgradeFaults: readonly FaultCase[] = [
  {
    name: 'upgrade',
    what: 'two hosts go from one commit to another under load, back, and forward again (--from REVISION --to REVISION)',
    async run(lab) {
      const [old, next] = await openCommits(lab);
      const world = await worldOf(lab, old);
      const hosts = [openHost(lab, world.rawKey), openHost(lab, world.rawKey)] as const;
      const [first, second] = hosts;
      const run = (host: Host, commit: Checkout) =>
        host.run(() => commit.start('gateway.ts', [], { ...world.environment }));
      await Promise.all(hosts.map((host) => run(host, old)));
      const steps: string[] = [];
      const step = async (what: string, work: () => Promise<unknown>) => {
        const [before, beganAt] = [calls().length, performance.now()];
        await work();
        await hostsAnswer(hosts);
        const tookS = ((performance.now() - beganAt) / 1_000).toFixed(1);
        steps.push(`${what} (${tookS} s): ${tally(calls().slice(before))}`);
      };
      const calls = (): TimedCall[] => hosts.flatMap(({ seen }) => seen);
      await step('the first host is upgraded and migrates, the second runs on', () => run(first, next));
      await step('an old process starts on the new schema', () => run(second, old));
      await step('old backend and AI service start on it', () => expectPlatform(lab, world, old));
      await step('the first host goes back', () => run(first, old));
      await step('both are upgraded', async () => {
        await run(first, next);
        await run(second, next);
      });
      await step('new backend and AI service start', () => expectPlatform(lab, world, next));
      for (const host of hosts) lab.seen.push(...(await host.stop()));
      const missed = lab.seen.filter(({ isWhole }) => !isWhole);
      return {
        kept: `${old.commit} (${old.newest()}) and ${next.commit} (${next.newest()}): ${tally(lab.seen)}`,
        refused: refusedOf(lab.seen),
        ...{ recoveryMs: null, lost: '', world, steps },
        problems: holds(
          missed.length === 0,
          `calls failed: ${refusedOf(missed)}; ${missed[0]?.reason ?? ''}`,
        ),
      };
    },
  },
];

/** Commits with the same migrations say nothing about schemas: then the newer one gets one more. */
async function openCommits(lab: Lab): Promise<[Checkout, Checkout]> {
  const { to } = lab.revisions;
  const old = await checkOut(oldRevision(lab.revisions));
  lab.whenEnding(old.remove);
  const next = await checkOut(to);
  lab.whenEnding(next.remove);
  if (old.newest() === next.newest()) next.addMigration();
  return [old, next];
}

/** On a database that the old commit made. */
async function worldOf(lab: Lab, old: Checkout): Promise<CreditWorld> {
  const fresh = await freshDatabase();
  const migrating = old.start('turnpike.ts', ['migrate'], {
    DATABASE_URL: fresh.url,
    DATA_DIR: lab.freshPath(),
  });
  if ((await migrating.exited) !== 0)
    throw new Error(`${old.commit} does not migrate: ${migrating.errors()}`);
  const world = await old.openWorld(Promise.resolve(fresh));
  lab.whenEnding(world.close);
  return world;
}

async function expectPlatform(lab: Lab, world: CreditWorld, commit: Checkout): Promise<void> {
  for (const file of ['backend.ts', 'ai-service.ts']) {
    const process = commit.start(file, [], { ...world.environment });
    lab.whenEnding(() => process.signal('SIGKILL'));
    const response = await fetch(`${await originOf(process)}/health`);
    const health = await response.text();
    process.signal('SIGTERM');
    const exitCode = await process.exited;
    if (response.status !== 200 || exitCode !== 0) {
      throw new Error(
        `${file} of ${commit.commit} answered ${response.status} ${health} and ended with ${exitCode}`,
      );
    }
  }
}
