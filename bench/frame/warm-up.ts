import type { Contestant } from './contestants.ts';
import { type LoadResult, runLoad } from './load.ts';

export const WARM_UP = { connections: 32, seconds: 3, bodyBytes: 0 };
/** A runtime compiles what is called often: its first tens of thousands of calls pay for that, the millions after not. */
const MOST_WARM_UPS = 5;
const COMPILING_SHARE = 0.04;

/** Until little is compiled any more. The result is that of the first seconds. */
export async function warmUp(one: Contestant, most = MOST_WARM_UPS): Promise<LoadResult> {
  const first = await runLoad(one, WARM_UP);
  let last = first;
  for (let round = 1; round < most && isCompiling(last); round += 1) {
    last = await runLoad(one, WARM_UP);
  }
  return first;
}

function isCompiling({ cpuMicros, compilerMicros }: LoadResult): boolean {
  return compilerMicros > COMPILING_SHARE * cpuMicros;
}
