import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { until } from '../test/doubles/until.ts';
import { findOrInstall, postgresProgram } from '../test/services/find-or-install.ts';
import { openCreditWorld } from '../test/system/credit-world.ts';
import { readBooks, runAudit } from './frame/books.ts';
import { holds, onlyStatuses } from './frame/expect.ts';
import type { FaultCase, Lab } from './frame/fault-case.ts';
import { callMany, callOnce, keepCalling, refusedOf, type TimedCall, tally } from './frame/load.ts';
import { startPausablePostgres } from './frame/pausable-postgres.ts';

const DEADLINE = { COMMIT_DEADLINE_MS: '300' };

export const diskFaults: readonly FaultCase[] = [
  {
    name: 'disk-full-of-journal',
    what: 'PostgreSQL is away and the disk of the journal is full',
    needs: 'root',
    async run(lab) {
      const folder = smallDisk(lab, '140m', 0o700);
      const { url } = await lab.gateway({ ...DEADLINE, DATA_DIR: folder });
      const postgres = lab.ownPostgres();
      lab.seen.push(...(await callMany(5, url, lab.world.rawKey)));
      await postgres.stop();
      const filler = join(folder, 'filler');
      fill(filler);
      const without: TimedCall[] = [];
      // The journal keeps a megabyte of the disk for this, which some thousand calls fit into.
      for (let turn = 0; turn < 100 && without.every(({ isWhole }) => isWhole); turn += 1) {
        without.push(...(await callMany(100, url, lab.world.rawKey)));
      }
      rmSync(filler);
      const begun = performance.now();
      await until(async () => {
        const call = await callOnce(url, lab.world.rawKey);
        lab.seen.push(call);
        return call.isWhole;
      });
      const recoveryMs = performance.now() - begun;
      await postgres.start();
      lab.seen.push(...without, ...(await callMany(5, url, lab.world.rawKey)));
      return {
        kept: `${tally(without)} with neither database nor disk`,
        refused: refusedOf(without),
        ...{ recoveryMs, lost: '' },
        problems: [
          ...onlyStatuses(without, [200, 503, null]),
          ...holds(
            without.some(({ isWhole }) => !isWhole),
            'the disk was never full',
          ),
        ],
      };
    },
  },
  {
    name: 'disk-full-of-postgres',
    what: 'the disk of PostgreSQL is full under load, then has room again',
    needs: 'root',
    async run(lab) {
      const binaries = (await findOrInstall([postgresProgram])).get(postgresProgram) ?? '';
      const disk = smallDisk(lab, '120m', 0o711);
      const sizes = {
        min_wal_size: '2MB',
        max_wal_size: '8MB',
        shared_buffers: '16MB',
        max_connections: '50',
      };
      const postgres = await startPausablePostgres(binaries, disk, sizes);
      lab.whenEnding(() => postgres.kill());
      const before = process.env.TEST_DATABASE_URL;
      process.env.TEST_DATABASE_URL = postgres.url;
      const world = await openCreditWorld().finally(() => {
        process.env.TEST_DATABASE_URL = before;
      });
      lab.whenEnding(() => world.close().catch(() => {}));
      const gateway = await world.startGateway(DEADLINE);
      lab.whenEnding(async () => {
        gateway.signal('SIGKILL');
        await gateway.exited;
      });
      const load = keepCalling(gateway.url, world.rawKey, 10);
      await until(() => load.seen.length > 30);
      const filler = join(disk, 'filler');
      fill(filler);
      await Bun.sleep(5_000);
      const during = load.seen.length;
      rmSync(filler);
      // Where it could not write its log it has ended itself; an operator, or systemd, starts it again.
      await postgres.start();
      const begun = performance.now();
      await until(
        async () => (await readBooks(world, load.seen.slice(0, during))).problems.length === 0,
        60_000,
      );
      const recoveryMs = performance.now() - begun;
      const calls = await load.stop();
      await until(async () => (await readBooks(world, calls)).problems.length === 0, 60_000).catch(() => {});
      const { problems } = await readBooks(world, calls);
      const audit = await runAudit(world);
      return {
        kept: tally(calls),
        refused: refusedOf(calls),
        ...{
          recoveryMs,
          lost: `of ${calls.filter(({ isWhole }) => isWhole).length} answers ${problems[0] ?? 'none'}`,
        },
        problems: [
          ...problems,
          ...onlyStatuses(calls, [200, 503]),
          ...holds(audit.isClean, `turnpike audit: ${audit.line}`),
        ],
      };
    },
  },
];

/** A disk in memory. A data folder must have 128 MiB free when a process starts. */
function smallDisk(lab: Lab, size: string, mode: number): string {
  const folder = lab.freshPath();
  mkdirSync(folder, { recursive: true, mode });
  // PostgreSQL runs as another user than root.
  chmodSync(dirname(folder), 0o711);
  const words = ['-t', 'tmpfs', '-o', `size=${size},mode=${mode.toString(8)}`, 'tmpfs', folder];
  if (Bun.spawnSync(['mount', ...words]).exitCode !== 0)
    throw new Error('no file system can be mounted here');
  lab.whenEnding(() => Bun.spawnSync(['umount', '--lazy', folder]).exitCode);
  return folder;
}

/** Until there is no room for another page. */
function fill(file: string): void {
  Bun.spawnSync(['dd', 'if=/dev/zero', `of=${file}`, 'bs=4k'], { stderr: 'ignore' });
}
