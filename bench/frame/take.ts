import { createContext } from './context.ts';
import type { Measurement, Row } from './measurement.ts';
import type { OwnServers } from './own-servers.ts';
import { createScope } from './scope.ts';

export type Taken = {
  readonly name: string;
  readonly what: string;
  readonly seconds: number;
} & (
  | { readonly outcome: 'measured'; readonly rows: readonly Row[] }
  | { readonly outcome: 'failed'; readonly error: string }
);

/** No measurement needs half of it on two busy cores. */
const TAKE_WITHIN_MS = 120_000;

/** Runs one measurement and ends what it has opened. Resolves also where it fails, takes too long or is interrupted. */
export async function take(
  { name, what, run, withinMs = TAKE_WITHIN_MS }: Measurement,
  servers: OwnServers,
  interruption: AbortSignal,
): Promise<Taken> {
  const begin = performance.now();
  const scope = createScope();
  const tooLong = AbortSignal.timeout(withinMs);
  const signal = AbortSignal.any([interruption, tooLong]);
  let rows: readonly Row[] = [];
  const problems: string[] = [];
  try {
    rows = await Promise.race([run(createContext(servers, scope, signal)), rejectionOn(signal)]);
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  problems.push(...(await scope.end()));
  const seconds = Math.round((performance.now() - begin) / 100) / 10;
  if (problems.length === 0) return { name, what, seconds, outcome: 'measured', rows };
  return { name, what, seconds, outcome: 'failed', error: problems.join('; ') };
}

function rejectionOn(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const rejectNow = () => reject(signal.reason);
  if (signal.aborted) rejectNow();
  else signal.addEventListener('abort', rejectNow, { once: true });
  return promise;
}
