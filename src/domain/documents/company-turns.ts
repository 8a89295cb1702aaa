import type { Clock, Timer } from '../../ports/clock.ts';

/**
 * Places that companies share by turns. Work starts for the company that has used the least time so far, so a company
 * that sends a thousand documents, or slow documents, delays only its own:
 *
 *   idle      A company's used time is raised to that of the company that started last: idle time earns no credit.
 *   waiting   Among companies with a free share, the one with the least used time is next; within one, first come.
 *   running   The duration of the work is added to the company's used time, whatever its outcome.
 *   paused    After a failure that took time, the company's next work starts after a pause of at least that time.
 *
 * No company can use all places. If too many wait, the newest of the company with the most waiting is refused.
 */
interface CompanyTurns {
  run<Result>(companyId: string, work: () => Promise<Result>, options?: TurnOptions): Promise<Turn<Result>>;
  /** Delays the company's next work after a failure that took time; the pause doubles with each failure in a row. */
  pauseAfterFailure(companyId: string, tookMs: number): void;
  succeeded(companyId: string): void;
  /** Refuses all waiting and new work. */
  close(): void;
}

interface TurnOptions {
  /** How long the work may wait; defaults to the limit of all work. */
  readonly waitMs?: number;
  /** Ends the waiting when aborted. */
  readonly signal?: AbortSignal;
}

type Turn<Result> =
  | { readonly outcome: 'done'; readonly result: Result }
  /** Too much is waiting, or the company's turn did not come in time. */
  | { readonly outcome: 'busy' };

interface TurnBounds {
  readonly places: number;
  /** Per company: fewer than there are places, so that another company finds one free. */
  readonly perCompany: number;
  readonly maxWaiting: number;
  readonly waitMs: number;
}

interface Company {
  readonly id: string;
  usedMs: number;
  running: number;
  failuresInRow: number;
  pausedUntilMs: number;
  /** A Set keeps the order of insertion. */
  readonly waiting: Set<Waiting>;
}

type Waiting = (hasTurn: boolean) => void;

/** Counted when work starts and corrected when it ends, so that a company's second item does not appear to be free. */
const ASSUMED_MS = 100;
/** The minimum counted for any work, so that companies whose work takes no time still alternate. */
const LEAST_MS = 10;
const LONGEST_PAUSE_MS = 300_000;
const MOST_COMPANIES = 10_000;

export function createCompanyTurns(clock: Clock, bounds: TurnBounds): CompanyTurns {
  const { places, perCompany, maxWaiting } = bounds;
  const companies = new Map<string, Company>();
  let free = places;
  let waitingCount = 0;
  let beganAtUsedMs = 0;
  let isClosed = false;
  let pauseEnds: Timer | null = null;

  function companyOf(id: string): Company {
    const known = companies.get(id);
    if (known !== undefined) return known;
    const company = {
      ...{ id, usedMs: beganAtUsedMs, running: 0, failuresInRow: 0, pausedUntilMs: 0 },
      waiting: new Set<Waiting>(),
    };
    companies.set(id, company);
    if (companies.size > MOST_COMPANIES) forgetIdle();
    return company;
  }

  /** Forgets idle companies, except those that are paused or have used more than their share. */
  function forgetIdle(): void {
    const nowMs = clock.now();
    for (const { id, usedMs, running, waiting, pausedUntilMs } of companies.values()) {
      if (running > 0 || waiting.size > 0) continue;
      if (usedMs <= beganAtUsedMs && pausedUntilMs <= nowMs) companies.delete(id);
    }
  }

  function mayBegin({ running, pausedUntilMs }: Company, nowMs: number): boolean {
    return free > 0 && running < perCompany && pausedUntilMs <= nowMs;
  }

  function begin(company: Company): void {
    free -= 1;
    company.running += 1;
    // Time that it did not use while others were served is not credited.
    company.usedMs = Math.max(company.usedMs, beganAtUsedMs);
    beganAtUsedMs = company.usedMs;
    company.usedMs += ASSUMED_MS;
  }

  function beginNext(): void {
    while (free > 0) {
      const next = leastUsed();
      if (next === null) return;
      const [waiting] = next.waiting;
      if (waiting === undefined) return;
      begin(next);
      waiting(true);
    }
  }

  function leastUsed(): Company | null {
    const nowMs = clock.now();
    let least: Company | null = null;
    let nextPauseEndMs = Number.POSITIVE_INFINITY;
    for (const company of companies.values()) {
      if (company.waiting.size === 0) continue;
      if (company.pausedUntilMs > nowMs) nextPauseEndMs = Math.min(nextPauseEndMs, company.pausedUntilMs);
      else if (mayBegin(company, nowMs) && (least === null || company.usedMs < least.usedMs)) least = company;
    }
    pauseEnds?.cancel();
    pauseEnds = Number.isFinite(nextPauseEndMs) ? clock.after(nextPauseEndMs - nowMs, beginNext) : null;
    return least;
  }

  /** False if this company itself has the most waiting. */
  function makeRoom(company: Company): boolean {
    let most = company;
    for (const other of companies.values()) if (other.waiting.size > most.waiting.size) most = other;
    if (most === company) return false;
    [...most.waiting].at(-1)?.(false);
    return true;
  }

  function wait(company: Company, { waitMs = bounds.waitMs, signal }: TurnOptions): Promise<boolean> {
    return new Promise((resolve) => {
      const end: Waiting = (hasTurn) => {
        timer.cancel();
        signal?.removeEventListener('abort', leave);
        if (company.waiting.delete(end)) waitingCount -= 1;
        resolve(hasTurn);
      };
      const leave = () => end(false);
      const timer = clock.after(waitMs, leave);
      signal?.addEventListener('abort', leave, { once: true });
      company.waiting.add(end);
      waitingCount += 1;
      beginNext();
    });
  }

  async function take(company: Company, options: TurnOptions): Promise<boolean> {
    if (isClosed || options.signal?.aborted === true) return false;
    if (company.waiting.size === 0 && mayBegin(company, clock.now())) {
      begin(company);
      return true;
    }
    if (waitingCount >= maxWaiting && !makeRoom(company)) return false;
    return await wait(company, options);
  }

  return {
    async run(companyId, work, options = {}) {
      const company = companyOf(companyId);
      if (!(await take(company, options))) return { outcome: 'busy' };
      const beganAtMs = clock.now();
      try {
        return { outcome: 'done', result: await work() };
      } finally {
        company.usedMs += Math.max(LEAST_MS, clock.now() - beganAtMs) - ASSUMED_MS;
        company.running -= 1;
        free += 1;
        beginNext();
      }
    },
    pauseAfterFailure(companyId, tookMs) {
      const company = companyOf(companyId);
      const pauseMs = Math.min(Math.max(0, tookMs) * 2 ** company.failuresInRow, LONGEST_PAUSE_MS);
      company.failuresInRow = Math.min(company.failuresInRow + 1, 20);
      company.pausedUntilMs = Math.max(company.pausedUntilMs, clock.now() + pauseMs);
    },
    succeeded(companyId) {
      const company = companies.get(companyId);
      if (company !== undefined) company.failuresInRow = 0;
    },
    close() {
      isClosed = true;
      pauseEnds?.cancel();
      for (const { waiting } of companies.values()) for (const end of [...waiting]) end(false);
    },
  };
}
