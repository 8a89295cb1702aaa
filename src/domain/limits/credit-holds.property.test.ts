import { holdsSimulation } from '../../../test/contracts/credit-holds.contract.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';

/** Time is the clock's own: there is nothing to move besides. */
const open = async (clock: Parameters<Parameters<typeof holdsSimulation>[1]>[0]) => ({
  state: createInProcessState({ clock }),
  advance() {},
});

holdsSimulation('in one process', open, [1, 2, 3, 4, 5, 6, 7, 8], 1_500);
