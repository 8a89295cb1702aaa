import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openMemoryDatabase } from '../test/doubles/memory-database.ts';
import { playMonths } from './months/play-months.ts';
import { planOf } from './plan.ts';
import { describeFailure, openSimulation, type Simulation } from './simulation.ts';
import { mostMoney } from './subscriptions.ts';

/** About eight seconds of a core. `npm run simulate` plays as much as there is time for. */
const SEEDS = [7, 11];
const HOURS = 0.08;
const EMBEDDED_SEED = 2;
const EMBEDDED_HOURS = 0.06;
/** With credits that expire, and with events that wait: a refund comes before its payment there. */
const MONTHS_SEEDS = [7, 20];
const MONTHS_DAYS = 15;

let simulation: Simulation;
beforeAll(async () => {
  simulation = await openSimulation();
});
afterAll(() => simulation.close());

test(`G-33 P-22 ${SEEDS.length} seeds of ${HOURS} simulated hours leave the books that they ought to`, async () => {
  const [first] = SEEDS;
  for (const seed of SEEDS) {
    const { violation } = await simulation.run(seed, HOURS);
    const failure = violation === null ? [] : describeFailure(seed, await simulation.shrink(seed, HOURS));
    expect(failure.join('\n')).toBe('');
  }
  // The same seed gives the same steps to the end, also after others.
  const [once, again] = [
    await simulation.run(first ?? 1, HOURS / 10),
    await simulation.run(first ?? 1, HOURS / 10),
  ];
  expect(again.lines).toEqual(once.lines);
  expect(again.steps).toBe(once.steps);
}, 600_000);

test(`G-33 G-29 so does a seed of ${EMBEDDED_HOURS} hours on the embedded parts, where charges are deferred`, async () => {
  const changes = { isEmbedded: true };
  const { violation } = await simulation.run(EMBEDDED_SEED, EMBEDDED_HOURS, changes);
  const failure =
    violation === null
      ? []
      : describeFailure(EMBEDDED_SEED, await simulation.shrink(EMBEDDED_SEED, EMBEDDED_HOURS, changes));
  expect(failure.join('\n')).toBe('');
}, 600_000);

test.each(MONTHS_SEEDS)(
  'P-21 P-22 weeks of subscriptions and packs leave what the model says: seed %d',
  async (seed) => {
    const database = await openMemoryDatabase();
    const { steps, differences } = await playMonths(database, seed, MONTHS_DAYS);
    await database.close();
    expect(differences.join('\n')).toBe('');
    expect(steps).toBeGreaterThan(0);
  },
  600_000,
);

test('G-33 on the embedded parts a call that is missing from the log is found', async () => {
  let lost = 0;
  const { violation } = await simulation.run(EMBEDDED_SEED, EMBEDDED_HOURS, {
    isEmbedded: true,
    only: ['kill'],
    writeAheadLog: (log) => ({
      ...log,
      append(entry) {
        lost += 1;
        return lost % 3 === 0 || log.append(entry);
      },
    }),
  });
  expect(violation?.message).toContain(
    'is neither charged nor in a journal, and its client has the whole answer',
  );
}, 600_000);

test('a plan has all kinds of faults, and two and more at once', () => {
  const plans = Array.from({ length: 20 }, (_, seed) => planOf(seed, 1));
  const kinds = new Set(plans.flat().map(({ deed }) => deed.kind));
  for (const kind of [
    'database',
    'database-fail-over',
    'state',
    'state-flush',
    'state-fail-over',
    'kill',
    'clock',
  ]) {
    expect(kinds).toContain(kind as never);
  }
  for (const kind of ['disk-full', 'deliveries', 'provider-away', 'leap', 'subscription', 'pack', 'top-up']) {
    expect(kinds).toContain(kind as never);
  }
  expect(planOf(5, 1)).toEqual(planOf(5, 1));
});

test('P-22 the bound of plan credits is the most money at any time, without what was returned of that', () => {
  const invoices = ['3', '1', '2'].map((id) => ({ id, number: id, status_transitions: { paid_at: 7 } }));
  const charge = (invoice: string, amount: number, amount_refunded = 0) => ({
    ...{ invoice, amount, amount_refunded, paid: true },
  });
  const most = (outside: readonly [string, number][], charges = [charge('1', 100)], givenMinor = 0) =>
    mostMoney({ invoices, charges, outside: new Map(outside), givenMinor });
  expect(most([])).toBe(100);
  expect(most([['1', 10]])).toBe(90);
  // The balance of a downgrade paid the third.
  expect(most([['3', 10]])).toBe(100);
  expect(most([['2', 10]], [charge('1', 100, 30), charge('3', 50)])).toBe(110);
  expect(most([], [charge('2', 50, 50), { ...charge('1', 100), paid: false }], 5)).toBe(5);
});
