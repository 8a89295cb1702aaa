import type { Clock } from '../ports/clock.ts';
import { type Command, complainOfUsage, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';

export const migrateCommand: Command = {
  name: 'migrate',
  usage: '',
  summary: "Brings the database to this code's version. Every service does so too when it starts.",
  works: 'on-the-database',
  async run({ terminal, migrate }) {
    const steps = await migrate();
    for (const step of steps) terminal.print(`applied ${step}`);
    terminal.print(steps.length === 0 ? 'the database is up to date' : `changes applied: ${steps.length}`);
    return EXIT_OK;
  },
};

/** P-6: 20 attempts, 3 s apart, 60 s in all. */
const ATTEMPTS = 20;
const INTERVAL_MS = 3_000;
const TOTAL_MS = 60_000;

type Attempt = { healthy: true; status: string } | { healthy: false; why: string };
type Fetch = (url: string, init: { signal: AbortSignal; redirect: 'manual' }) => Promise<Response>;

export function verifyDeployment(fetchHealth: Fetch = fetch): Command {
  return {
    name: 'verify-deployment',
    usage: 'URL',
    summary: `Asks URL/health up to ${ATTEMPTS} times, ${INTERVAL_MS / 1000} s apart, until it answers well.`,
    works: 'alone',
    async run({ terminal, clock }, words) {
      const address = healthAddress(words[0]);
      if (address === null || words.length > 1) {
        terminal.complain('usage: turnpike verify-deployment URL, for example http://127.0.0.1:8081');
        return EXIT_USAGE;
      }
      const begun = clock.now();
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        const attemptBegun = clock.now();
        const left = begun + TOTAL_MS - attemptBegun;
        if (left <= 0) break;
        const result = await askHealth(address, Math.min(INTERVAL_MS, left), clock, fetchHealth);
        if (result.healthy) {
          terminal.print(
            `${address} is up after ${attempt} of ${ATTEMPTS} attempts, status ${result.status}`,
          );
          return EXIT_OK;
        }
        terminal.print(`attempt ${attempt} of ${ATTEMPTS}: ${result.why}`);
        const pauseMs = Math.min(attemptBegun + INTERVAL_MS, begun + TOTAL_MS) - clock.now();
        if (attempt < ATTEMPTS && pauseMs > 0) await clock.sleep(pauseMs);
      }
      terminal.complain(
        `${address} did not answer well within ${TOTAL_MS / 1000} s: look at that service's log`,
      );
      return EXIT_FAILED;
    },
  };
}

/** The address of the health route: given whole, or as the service's base address. */
function healthAddress(word: string | undefined): string | null {
  const url = URL.parse(word ?? '');
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  if (!url.pathname.endsWith('/health')) url.pathname = `${url.pathname.replace(/\/$/, '')}/health`;
  return url.href;
}

async function askHealth(
  address: string,
  timeoutMs: number,
  clock: Clock,
  fetchHealth: Fetch,
): Promise<Attempt> {
  const stop = new AbortController();
  const timer = clock.after(timeoutMs, () => stop.abort());
  try {
    const response = await fetchHealth(address, { signal: stop.signal, redirect: 'manual' });
    if (response.status !== 200) return { healthy: false, why: `it answered ${response.status}` };
    const body: unknown = await response.json().catch(() => null);
    const status = (body as { status?: unknown } | null)?.status;
    if (typeof status !== 'string') return { healthy: false, why: 'its answer has no "status"' };
    return { healthy: true, status };
  } catch {
    const why = stop.signal.aborted ? `no answer within ${timeoutMs} ms` : 'it cannot be reached';
    return { healthy: false, why };
  } finally {
    timer.cancel();
  }
}

const DEAD_LETTERS_SHOWN = 100;

export const queueCommand: Command = {
  name: 'queue',
  usage: 'NAME',
  summary: "A job queue's counts and its dead letters with their errors.",
  works: 'on-the-database',
  async run({ terminal, jobQueue }, [name, ...rest]) {
    if (name === undefined || rest.length > 0) {
      return complainOfUsage(terminal, queueCommand);
    }
    const { waiting, active, dead } = await jobQueue.counts(name);
    terminal.print(`${name}: ${waiting} waiting, ${active} active, ${dead} dead`);
    for (const letter of await jobQueue.deadLetters(name, DEAD_LETTERS_SHOWN)) {
      terminal.print(`${letter.id} ${letter.failedAt.toISOString()} ${letter.error.split('\n')[0]}`);
    }
    return EXIT_OK;
  },
};

export const redriveCommand: Command = {
  name: 'redrive',
  usage: 'NAME [ID …]',
  summary: 'Gives dead letters of a job queue another run: all of them, or those named.',
  works: 'on-the-database',
  async run({ terminal, jobQueue }, [name, ...ids]) {
    if (name === undefined) {
      return complainOfUsage(terminal, redriveCommand);
    }
    const moved = await jobQueue.redrive(name, ids.length > 0 ? ids : undefined);
    terminal.print(`${moved} jobs of ${name} run again`);
    return EXIT_OK;
  },
};
