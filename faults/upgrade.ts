import { freshDatabase } from '../test/services/fresh-database.ts';
import type { CreditWorld } from '../test/system/credit-world.ts';
import type { RunningProcess } from '../test/system/running-system.ts';
import { type Checkout, checkOut, oldRevision } from './frame/commits.ts';
import { holds } from './frame/expect.ts';
import type { FaultCase, Lab } from './frame/fault-case.ts';
import { keepCalling, type Load, refusedOf, type TimedCall, tally } from './frame/load.ts';

const LANES = 6;

export const upgradeFaults: readonly FaultCase[] = [
  {
    name: 'upgrade',
    what: 'two hosts go from one commit to another under load, back, and forward again (--from REVISION --to REVISION)',
    async run(lab) {
      const [old, next] = await openCommits(lab);
      const world = await worldOf(lab, old);
      const hosts = [openHost(lab, world), openHost(lab, world)] as const;
      const [first, second] = hosts;
      await Promise.all(hosts.map((host) => host.run(old)));
      const steps: string[] = [];
      const step = async (what: string, work: () => Promise<unknown>) => {
        const [before, beganAt] = [calls().length, performance.now()];
        await work();
        await hostsAnswer(hosts);
        const tookS = ((performance.now() - beganAt) / 1_000).toFixed(1);
        steps.push(`${what} (${tookS} s): ${tally(calls().slice(before))}`);
      };
      const calls = (): TimedCall[] => hosts.flatMap(({ seen }) => seen);
      await step('the first host is upgraded and migrates, the second runs on', () => first.run(next));
      await step('an old process starts on the new schema', () => second.run(old));
      await step('old backend and AI service start on it', () => expectPlatform(lab, world, old));
      await step('the first host goes back', () => first.run(old));
      await step('both are upgraded', async () => {
        await first.run(next);
        await second.run(next);
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

interface Host {
  readonly seen: readonly TimedCall[];
  /** Ends what runs there, without calls in flight as a load balancer would, and starts that commit under load. */
  run(commit: Checkout): Promise<void>;
  stop(): Promise<readonly TimedCall[]>;
}

function openHost(lab: Lab, world: CreditWorld): Host {
  const seen: TimedCall[] = [];
  let running: RunningProcess | null = null;
  let load: Load | null = null;
  const end = async () => {
    seen.push(...((await load?.stop()) ?? []));
    load = null;
    running?.signal('SIGTERM');
    const exitCode = (await running?.exited) ?? 0;
    if (exitCode !== 0) throw new Error(`a gateway ended with ${exitCode}: ${running?.errors()}`);
    running = null;
  };
  lab.whenEnding(async () => {
    await load?.stop();
    running?.signal('SIGKILL');
    await running?.exited;
  });
  return {
    get seen() {
      return [...seen, ...(load?.seen ?? [])];
    },
    async run(commit) {
      await end();
      running = commit.start('gateway.ts', [], { ...world.environment });
      const url = /http:\S+/.exec(await running.line('ready'))?.[0] ?? '';
      load = keepCalling(url, world.rawKey, LANES);
    },
    async stop() {
      await end();
      return seen;
    },
  };
}

/** Until each has answered further calls. */
async function hostsAnswer(hosts: readonly Host[]): Promise<void> {
  const before = hosts.map(({ seen }) => seen.length);
  while (hosts.some(({ seen }, at) => seen.length < (before[at] ?? 0) + 5 * LANES)) await Bun.sleep(50);
}

async function expectPlatform(lab: Lab, world: CreditWorld, commit: Checkout): Promise<void> {
  for (const file of ['backend.ts', 'ai-service.ts']) {
    const process = commit.start(file, [], { ...world.environment });
    lab.whenEnding(() => process.signal('SIGKILL'));
    const line = await process.line('ready');
    const response = await fetch(`${new URL(/http:[^\s,]+/.exec(line)?.[0] ?? '').origin}/health`);
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
