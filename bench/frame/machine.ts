import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, loadavg, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';
import { postgresProgram, redisProgram } from '../../test/services/find-or-install.ts';

/** What the figures depend on, and nothing that names the machine. */
export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly memoryGb: number;
  /** Of the last minute before the run: figures of a busy machine are not worth keeping. */
  readonly loadAverage: number;
  /** Null where there is none on this machine. */
  readonly versions: Readonly<Record<'bun' | 'pglite' | 'postgresql' | 'redis', string | null>>;
}

const MANIFEST = fileURLToPath(new URL('../../package.json', import.meta.url));

export function readMachine(): Machine {
  const { dependencies } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const postgres = postgresProgram.find();
  const redis = redisProgram.find();
  return {
    cores: availableParallelism(),
    processor: `${cpus()[0]?.model.trim() ?? 'unknown'}, ${arch()}, ${type()}`,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    loadAverage: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    versions: {
      bun: Bun.version,
      pglite: dependencies['@electric-sql/pglite'] ?? null,
      postgresql: postgres && versionIn([`${postgres}/postgres`, '--version'], /\(PostgreSQL\) ([\d.]+)/),
      redis: redis && versionIn([redis, '--version'], /v=([\d.]+)/),
    },
  };
}

function versionIn(command: string[], pattern: RegExp): string | null {
  return pattern.exec(Bun.spawnSync(command).stdout.toString())?.[1] ?? null;
}

export function describeMachine({ cores, processor, memoryGb, loadAverage, versions }: Machine): string {
  const { bun, pglite, postgresql, redis } = versions;
  const lines = [
    `${cores} cores (${processor}), ${memoryGb} GB of memory`,
    `Bun ${bun}, PGlite ${pglite}, PostgreSQL ${postgresql ?? 'missing'}, Redis ${redis ?? 'missing'}`,
  ];
  if (loadAverage > cores / 4) {
    lines.push(
      `load average ${loadAverage} before the run: something else is at work, take the figures again`,
    );
  }
  return lines.join('\n');
}
