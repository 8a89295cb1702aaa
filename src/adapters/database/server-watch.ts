import type { Clock, Timer } from '../../ports/clock.ts';
import type { DatabaseFailure } from '../../ports/database.ts';
import { databaseFailure, isDatabaseFailure } from './failure.ts';

/**
 * Whether the server answers, as far as the statements of this process show. A server that is paused, or behind a network
 * that loses everything, refuses nothing: each request would wait for its own time-out.
 *   answering -> suspected   statements are waiting and none was answered for a second: a probe is sent
 *   suspected -> silent      nothing was answered for a further second
 *   silent -> answering      the probe or any other statement is answered, or a connection is refused
 * While it is silent, statements fail at once, so that only one probe waits for the server to come back.
 */
export interface ServerWatch {
  isSilent(): boolean;
  failure(): DatabaseFailure;
  /** Follows a statement that has been sent. With `failsFast` it is rejected as soon as the server is silent. */
  follow<T>(statement: Promise<T>, failsFast: boolean): Promise<T>;
  close(): void;
}

interface ServerWatchParts {
  readonly time: Pick<Clock, 'after' | 'uptimeMs'>;
  /** Sends a statement on a connection of its own. */
  readonly probe: () => Promise<unknown>;
  readonly onSilent: (failure: DatabaseFailure) => void;
  readonly onAnswering: () => void;
}

const SUSPECTED_MS = 1_000;
const SILENT_MS = 1_000;
const PAUSE_MS = 500;

export function createServerWatch({ time, probe, onSilent, onAnswering }: ServerWatchParts): ServerWatch {
  let state: 'answering' | 'suspected' | 'silent' = 'answering';
  let waiting = 0;
  /** The last answer, or when the first of the waiting statements was sent. */
  let lastAnswerMs = 0;
  let timer: Timer | null = null;
  let isProbing = false;
  let closed = false;
  const impatient = new Set<(failure: DatabaseFailure) => void>();

  function sent(): void {
    if (waiting === 0 && state === 'answering') lastAnswerMs = time.uptimeMs();
    waiting += 1;
    if (state === 'answering') timer ??= time.after(SUSPECTED_MS, look);
  }

  function ended(isAnswer: boolean): void {
    waiting -= 1;
    if (isAnswer) answered();
  }

  function answered(): void {
    lastAnswerMs = time.uptimeMs();
    if (state === 'answering') return;
    const wasSilent = state === 'silent';
    state = 'answering';
    timer?.cancel();
    timer = waiting > 0 && !closed ? time.after(SUSPECTED_MS, look) : null;
    if (wasSilent) onAnswering();
  }

  function look(): void {
    timer = null;
    if (closed || waiting === 0) return;
    const remainingMs = lastAnswerMs + SUSPECTED_MS - time.uptimeMs();
    if (remainingMs > 0) {
      timer = time.after(remainingMs, look);
      return;
    }
    state = 'suspected';
    timer = time.after(SILENT_MS, () => {
      timer = null;
      state = 'silent';
      onSilent(failure());
      for (const reject of impatient) reject(failure());
      impatient.clear();
    });
    if (!isProbing) void keepProbing();
  }

  async function keepProbing(): Promise<void> {
    isProbing = true;
    while (state !== 'answering' && !closed) {
      if (await probe().then(() => true, isAnswer)) answered();
      else await new Promise<void>((resolve) => void time.after(PAUSE_MS, resolve));
    }
    isProbing = false;
  }

  return {
    isSilent: () => state === 'silent',
    failure,
    follow(statement, failsFast) {
      sent();
      statement.then(
        () => ended(true),
        (error) => ended(isAnswer(error)),
      );
      if (!failsFast) return statement;
      return new Promise((resolve, reject) => {
        impatient.add(reject);
        statement.then(resolve, reject).finally(() => impatient.delete(reject));
      });
    },
    close() {
      closed = true;
      timer?.cancel();
    },
  };
}

function failure(): DatabaseFailure {
  return databaseFailure('unavailable', 'the database does not answer: check that its server runs');
}

/** A refused or closed connection is an answer too: those that follow fail by themselves, with their own reason. */
function isAnswer(error: unknown): boolean {
  if (!isDatabaseFailure(error) || error.sqlState !== null) return true;
  return error.reason !== 'time-out' && !isConnectTimeout(error.cause);
}

function isConnectTimeout(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ERR_POSTGRES_CONNECTION_TIMEOUT';
}
