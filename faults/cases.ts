import { clientFaults } from './clients.ts';
import { clockFaults } from './clock.ts';
import { diskFaults } from './disk.ts';
import { exhaustionFaults } from './exhaustion.ts';
import type { FaultCase } from './frame/fault-case.ts';
import { killFaults } from './kills.ts';
import { networkFaults } from './network.ts';
import { postgresFaults } from './postgres.ts';
import { redisFaults } from './redis.ts';
import { secretFaults } from './secrets.ts';
import { upgradeFaults } from './upgrade.ts';
import { upstreamFaults } from './upstream.ts';
import { workFaults } from './work.ts';

/** In the order in which they run. */
export const faultCases: readonly FaultCase[] = [
  ...killFaults,
  ...postgresFaults,
  ...redisFaults,
  ...networkFaults,
  ...diskFaults,
  ...clockFaults,
  ...upstreamFaults,
  ...clientFaults,
  ...workFaults,
  ...upgradeFaults,
  ...secretFaults,
  ...exhaustionFaults,
];
