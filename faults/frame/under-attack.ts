import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freshDatabase } from '../../test/services/fresh-database.ts';
import { givenRedis } from '../../test/services/given.ts';
import { type DemoFile, startProcess } from '../../test/system/running-system.ts';
import { holds } from './expect.ts';
import type { FaultCase, Findings, Lab } from './fault-case.ts';
import { refusedOf, type TimedCall, tally } from './load.ts';

/** What an attacker finds: `npm start` with its demo world. */
interface AttackedSystem {
  readonly demo: DemoFile;
  readonly signal: AbortSignal;
}

interface RunningAttack {
  /** Ends the attack; what the attacker has seen, in a few words. */
  stop(): Promise<string>;
}

/** An attacker who tries to exhaust time, memory or slots; the calls of another company must not be affected. */
export interface ExhaustionAttack {
  readonly name: string;
  readonly what: string;
  /** Settings of the attacked system, besides the defaults. */
  readonly env?: Readonly<Record<string, string>>;
  begin(system: AttackedSystem): RunningAttack | Promise<RunningAttack>;
}

interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly slowest: number;
}

const RATE = 50;
const SECONDS = 8;
const STEADY_CALLS = join(import.meta.dir, '../programs/steady-calls.ts');
/** On two busy cores the same system differs by this much from one measurement to the next. */
const NOISE_MS = 100;
const NOISE_RATIO = 3;

/**
 * Calls of the gateway at a steady rate, first without and then beside the attack: on the embedded parts, which `npm
 * start` has by default, and on PostgreSQL and Redis.
 */
export function exhaustionCase(attack: ExhaustionAttack): FaultCase {
  return {
    name: `attack-${attack.name}`,
    what: attack.what,
    async run(lab) {
      const embedded = await onEmbeddedParts(lab, attack);
      const servers = await onServers(lab, attack);
      return {
        kept: `${embedded.kept} on the embedded parts, ${servers.kept} on PostgreSQL and Redis`,
        refused: `${embedded.refused}; ${servers.refused}`,
        ...{ recoveryMs: null, lost: '' },
        latency: [...embedded.latency, ...servers.latency],
        problems: [...embedded.problems, ...servers.problems],
      };
    },
  };
}

type Measured = Pick<Findings, 'kept' | 'refused' | 'problems'> & { readonly latency: readonly string[] };

async function onServers(lab: Lab, attack: ExhaustionAttack): Promise<Measured> {
  const database = await freshDatabase();
  lab.whenEnding(() => database.drop());
  return await measure(lab, attack, 'servers', { DATABASE_URL: database.url, REDIS_URL: givenRedis() ?? '' });
}

async function onEmbeddedParts(lab: Lab, attack: ExhaustionAttack): Promise<Measured> {
  return await measure(lab, attack, 'embedded', { DATABASE_URL: '', REDIS_URL: '' });
}

async function measure(
  lab: Lab,
  attack: ExhaustionAttack,
  parts: string,
  places: Record<string, string>,
): Promise<Measured> {
  const dataDir = lab.freshPath();
  const env = { ...places, DATA_DIR: dataDir };
  const world = { DEMO_WORLD: 'on', CREDITS_GRANTED_TO_DEMO: '100000', LOG_LEVEL: 'warn' };
  const system = await lab.start('everything.ts', { ...env, ...world, ...attack.env });
  const demo = demoOf(dataDir);
  const key = await mintThere(env, demo.company_id);
  const measured = await beside(lab, attack, parts, demo, key);
  const audit = startProcess('turnpike.ts', ['audit'], env);
  const isClean = (await audit.exited) === 0;
  system.signal('SIGTERM');
  await system.exited;
  const problems = holds(isClean, `turnpike audit (${parts}): ${audit.output()}${audit.errors()}`);
  return { ...measured, problems: [...measured.problems, ...problems] };
}

async function beside(
  lab: Lab,
  attack: ExhaustionAttack,
  parts: string,
  demo: DemoFile,
  key: string,
): Promise<Measured> {
  const without = await steadyCalls(demo.gateway_url, key);
  const running = await attack.begin({ demo, signal: lab.signal });
  const attacked = await steadyCalls(demo.gateway_url, key).finally(async () => await running.stop());
  const seen = await running.stop();
  const [before, during] = [latencyOf(without), latencyOf(attacked)];
  const missed = attacked.filter(({ isWhole }) => !isWhole);
  const most = before.p99 * NOISE_RATIO + NOISE_MS;
  return {
    kept: tally(attacked),
    refused: `the attacker saw ${seen}`,
    latency: [line(parts, 'no attack', before), line(parts, 'attack', during)],
    problems: [
      ...holds(missed.length === 0, `calls beside the attack (${parts}): ${refusedOf(missed)}`),
      ...holds(during.p99 <= most, `p99 beside the attack (${parts}) is ${Math.round(during.p99)} ms`),
    ],
  };
}

async function steadyCalls(url: string, key: string): Promise<TimedCall[]> {
  const words = [STEADY_CALLS, url, key, String(RATE), String(SECONDS)];
  const child = Bun.spawn([process.execPath, ...words], { stdout: 'pipe', stderr: 'inherit' });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error('the steady calls failed');
  return JSON.parse(output) as TimedCall[];
}

function latencyOf(calls: readonly TimedCall[]): Latency {
  const times = calls.map(({ tookMs }) => tookMs).sort((one, other) => one - other);
  const at = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), slowest: at(1) };
}

function line(parts: string, when: string, { p50, p99, slowest }: Latency): string {
  const ms = (value: number) => value.toFixed(1).padStart(7);
  return `${parts.padEnd(8)} ${when.padEnd(9)} p50 ${ms(p50)} ms   p99 ${ms(p99)} ms   slowest ${ms(slowest)} ms`;
}

function demoOf(dataDir: string): DemoFile {
  return JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as DemoFile;
}

/** A key without limits that the measuring would meet, minted as an operator does it. */
async function mintThere(env: Record<string, string>, companyId: string): Promise<string> {
  const rates = ['--rpm', '1000000', '--tpm', '100000000', '--in-flight', '10000'];
  const minting = startProcess('turnpike.ts', ['mint-key', companyId, 'steady', ...rates], env);
  await minting.exited;
  const key = /\btpk_\S+/.exec(minting.output())?.[0];
  if (key === undefined) throw new Error(`no key was minted: ${minting.output()}${minting.errors()}`);
  return key;
}

interface AttackRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const MOST_AT_ONCE = 200;

/** So many requests a second, whether the ones before are answered or not; says which statuses they got. */
export function attackSteadily(rate: number, request: (number: number) => AttackRequest): RunningAttack {
  const statuses = new Map<string, number>();
  const open = new Set<AbortController>();
  let sent = 0;
  const send = async () => {
    if (open.size >= MOST_AT_ONCE) return;
    sent += 1;
    const leaving = new AbortController();
    open.add(leaving);
    const { url, ...init } = request(sent);
    const status = await fetch(url, { method: 'POST', ...init, signal: leaving.signal }).then(
      async (response) => {
        await response.body?.cancel();
        return String(response.status);
      },
      () => 'no answer',
    );
    open.delete(leaving);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  };
  const timer = setInterval(() => void send(), 1_000 / rate);
  return {
    async stop() {
      clearInterval(timer);
      for (const leaving of open) leaving.abort();
      const counts = [...statuses].map(([status, count]) => `${count} × ${status}`);
      return `${counts.join(', ') || 'no answer'} of ${sent} requests`;
    },
  };
}
