import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { openCreditWorld } from '../../test/system/credit-world.ts';
import type { startProcess } from '../../test/system/running-system.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What `npm run faults` was given: revisions of this repository. */
export interface Revisions {
  /** Null: the last tag, or the commit before `to`. */
  readonly from: string | null;
  readonly to: string;
}

/** A commit of this repository in a folder of its own, on the packages of this checkout. */
export interface Checkout {
  readonly commit: string;
  /** Its newest migration. */
  newest(): string;
  /** Adds one that only expands, so that its schema is newer than that of a commit with the same migrations. */
  addMigration(): void;
  /** As `startProcess` of the tests, of its own code. */
  start: typeof startProcess;
  openWorld: typeof openCreditWorld;
  remove(): void;
}

export function oldRevision({ from, to }: Revisions): string {
  if (from !== null) return from;
  const tagged = spawnSync('git', ['describe', '--tags', '--abbrev=0', `${to}~1`], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return tagged.status === 0 ? tagged.stdout.trim() : `${to}~1`;
}

export async function checkOut(revision: string): Promise<Checkout> {
  const folder = join(mkdtempSync(join(tmpdir(), 'turnpike-commit-')), 'tree');
  git('worktree', 'add', '--detach', '--quiet', folder, revision);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const migrations = join(folder, 'migrations');
  const newest = () =>
    readdirSync(migrations)
      .filter((name) => name.endsWith('.sql'))
      .toSorted()
      .at(-1)
      ?.replace('.sql', '') ?? '';
  const [running, world] = await Promise.all([
    import(join(folder, 'test/system/running-system.ts')),
    import(join(folder, 'test/system/credit-world.ts')),
  ]);
  return {
    commit: git('rev-parse', '--short', revision),
    newest,
    addMigration() {
      const number = String(Number(newest().slice(0, 4)) + 1).padStart(4, '0');
      const sql =
        'create table made_for_the_upgrade (n integer); alter table companies add column made_for_it text;';
      writeFileSync(join(migrations, `${number}_made_for_the_upgrade.sql`), sql);
    },
    start: running.startProcess,
    openWorld: world.openCreditWorld,
    remove() {
      git('worktree', 'remove', '--force', folder);
      rmSync(join(folder, '..'), { recursive: true, force: true });
    },
  };
}

function git(...words: string[]): string {
  const ended = spawnSync('git', words, { cwd: ROOT, encoding: 'utf8' });
  if (ended.status !== 0)
    throw new Error(`git ${words.join(' ')}: ${ended.stderr.trim() || 'git is missing'}`);
  return ended.stdout.trim();
}
