import type { Alias, AliasTarget } from '../../src/domain/models/aliases.ts';
import type { ModelDirectory } from '../../src/domain/models/model-directory.ts';
import { createTargetFlights } from '../../src/domain/models/routing/target-flights.ts';

type TriedModels = Pick<
  ModelDirectory,
  'find' | 'order' | 'noteFailure' | 'noteSuccess' | 'cool' | 'latency' | 'flights'
>;

/** Models of which nothing is remembered; the targets are tried in the order that is given. */
export function plainModels(
  order: (alias: Alias, draw: number) => readonly AliasTarget[],
  changes: Partial<TriedModels> = {},
): TriedModels {
  return {
    find: () => null,
    order,
    noteFailure() {},
    noteSuccess() {},
    cool() {},
    latency: { note() {}, noteAtLeast() {} },
    flights: createTargetFlights(),
    ...changes,
  };
}
