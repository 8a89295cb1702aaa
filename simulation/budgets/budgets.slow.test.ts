import { expect, test } from 'bun:test';
import { openMemoryDatabase } from '../../test/doubles/memory-database.ts';
import { useDatabase } from '../../test/setup/use-database.ts';
import { type BudgetsOptions, playBudgets } from './play-budgets.ts';

/** About four seconds of a core. `npm run simulate -- --budgets` plays as much as there is time for. */
const SHARED: BudgetsOptions = { seed: 17, steps: 140, isDeferred: false, cacheShareMillionths: 333_333 };
const DEFERRED: BudgetsOptions = { seed: 5, steps: 70, isDeferred: true, cacheShareMillionths: 0 };

const database = useDatabase();

test('G-29 calls begin, and balances, limits and budgets are, as a model of the documents says', async () => {
  const { differences, refusals, calls } = await playBudgets(database, SHARED);
  expect(differences.join('\n')).toBe('');
  expect(calls).toBeGreaterThan(10);
  expect(refusals.size).toBeGreaterThan(2);
}, 600_000);

test('G-29 so they do where charges are deferred', async () => {
  const memory = await openMemoryDatabase();
  const { differences } = await playBudgets(memory, DEFERRED);
  await memory.close();
  expect(differences.join('\n')).toBe('');
}, 600_000);
