import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createScope } from '../../bench/frame/scope.ts';
import type { PausableRedis } from '../../test/adapters/shared-state/pausable-redis.ts';
import { openCreditWorld } from '../../test/system/credit-world.ts';
import { type RunningProcess, startProcess } from '../../test/system/running-system.ts';
import { readBooks, runAudit } from './books.ts';
import type { Revisions } from './commits.ts';
import type { FaultCase, Findings, Lab } from './fault-case.ts';
import type { TimedCall } from './load.ts';
import type { PausablePostgres } from './pausable-postgres.ts';

export interface OwnServers {
  readonly postgres: PausablePostgres;
  readonly redis: PausableRedis;
}

export interface Shown extends Findings {
  readonly name: string;
  readonly seconds: number;
  readonly audit: string;
}

/** A guard against a hang: on a busy machine an upgrade there and back takes four minutes. */
const CASE_WITHIN_MS = 900_000;
const BOOKS_WITHIN_MS = 30_000;

/** Runs one case in a world of its own; resolves also where it fails. Without servers of its own only quick ones run. */
export async function takeCase(
  fault: FaultCase,
  servers: OwnServers | null,
  interruption: AbortSignal,
  revisions: Revisions = { from: null, to: 'HEAD' },
): Promise<Shown> {
  const begin = performance.now();
  const scope = createScope();
  const signal = AbortSignal.any([interruption, AbortSignal.timeout(CASE_WITHIN_MS)]);
  const nothing: Findings = { kept: '', refused: '', recoveryMs: null, lost: '', problems: [] };
  let findings = nothing;
  let audit = 'not run';
  const problems: string[] = [];
  try {
    const world = await openCreditWorld();
    scope.whenEnding(world.close);
    const lab = { ...createLab(world, servers, scope.whenEnding, signal), revisions };
    findings = await Promise.race([fault.run(lab), rejectionOn(signal)]);
    const checked = { ...lab, world: findings.world ?? world };
    const { lost, problems: wrong } = await booksOf(checked, findings.chargesOnlyWhole === true);
    const { isClean, line } = await runAudit(checked.world);
    audit = line;
    problems.push(...findings.problems, ...wrong, ...(isClean ? [] : [`turnpike audit: ${line}`]));
    findings = { ...findings, lost: findings.lost === '' ? lost : `${findings.lost}; ${lost}` };
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  problems.push(...(await scope.end()));
  const seconds = Math.round((performance.now() - begin) / 100) / 10;
  return { ...findings, name: fault.name, seconds, audit, problems };
}

function createLab(
  world: Lab['world'],
  servers: OwnServers | null,
  whenEnding: Lab['whenEnding'],
  signal: AbortSignal,
): Omit<Lab, 'revisions'> {
  const own = () => {
    if (servers === null) throw new Error('this case needs servers of its own: run it with npm run faults');
    return servers;
  };
  const endLater = <T extends RunningProcess>(running: T): T => {
    whenEnding(async () => {
      running.signal('SIGCONT');
      running.signal('SIGKILL');
      await running.exited;
    });
    return running;
  };
  const seen: TimedCall[] = [];
  // With servers of its own a case stops these directly, without a proxy.
  const direct = servers === null ? {} : directAddresses(world.environment, servers);
  return {
    world,
    seen,
    signal,
    whenEnding,
    ownPostgres: () => own().postgres,
    ownRedis: () => own().redis,
    gateway: async (env = {}) => endLater(await world.startGateway({ ...direct, ...env })),
    async start(file, env = {}) {
      const running = endLater(startProcess(file, [], { ...world.environment, ...direct, ...env }));
      await running.line('ready');
      return running;
    },
    freshPath() {
      const folder = mkdtempSync(join(tmpdir(), 'turnpike-fault-'));
      whenEnding(() => rmSync(folder, { recursive: true, force: true }));
      return join(folder, 'data');
    },
  };
}

function directAddresses(environment: Lab['world']['environment'], { postgres, redis }: OwnServers) {
  const database = new URL(environment.DATABASE_URL ?? '');
  database.port = new URL(postgres.url).port;
  return { DATABASE_URL: database.href, REDIS_URL: redis.url };
}

/** What went to the journal may still be on its way into the database. */
async function booksOf(
  { world, seen }: Pick<Lab, 'world' | 'seen'>,
  chargesOnlyWhole: boolean,
): Promise<{ lost: string; problems: readonly string[] }> {
  const deadline = performance.now() + BOOKS_WITHIN_MS;
  for (;;) {
    const { problems, unseen } = await readBooks(world, seen);
    if (problems.length > 0 && performance.now() < deadline) {
      await Bun.sleep(200);
      continue;
    }
    const whole = seen.filter(({ isWhole }) => isWhole).length;
    const cut = unseen > 0 ? `, ${unseen} charged whose answer the client lost with its connection` : '';
    if (chargesOnlyWhole && unseen > 0) {
      return {
        lost: `${unseen} charges for nothing`,
        problems: [`${unseen} charged and not answered whole`],
      };
    }
    return { lost: `nothing: ${whole} answers, each charged once${cut}`, problems };
  }
}

function rejectionOn(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const rejectNow = () => reject(signal.reason);
  if (signal.aborted) rejectNow();
  else signal.addEventListener('abort', rejectNow, { once: true });
  return promise;
}
