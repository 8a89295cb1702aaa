import { beforeAll, expect, test } from 'bun:test';
import { finishedCall } from '../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { typedCommand } from '../../../test/doubles/typed-command.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { addCompany } from '../../domain/accounts/company.ts';
import { chargeCalls } from '../../domain/calls/settlement/charge-calls.ts';
import { rotateKey } from '../../domain/keys/key-lifecycle.ts';
import { mintKey } from '../../domain/keys/mint-key.ts';
import { commandNamed } from '../commands.ts';

const { newId } = createSystemSecrets();
const sharedState = createInProcessState({ clock: createManualClock() });
const database = useDatabase();
const companyId = newId();

beforeAll(async () => {
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
});

async function type(name: string, ...words: string[]) {
  const command = commandNamed(name);
  if (command === null || command === undefined) throw new Error(`there is no such command: ${name}`);
  return await typedCommand({ database, sharedState }, command, ...words);
}

test('turnpike budgets and set-budget: sets, lists with the spending, changes, deletes, and records it', async () => {
  expect(await type('budgets', companyId)).toEqual({ exitCode: 0, lines: ['no budgets'] });
  const startedAtMs = createManualClock().now();
  await chargeCalls(database, [finishedCall(companyId, { keyId: newId(), endUser: 'ada', startedAtMs })]);
  expect(await type('set-budget', companyId, 'end-user', '*', '2.5')).toEqual({
    exitCode: 0,
    lines: ['budget of every end user: 2.5 credits a month'],
  });
  await type('set-budget', companyId, 'company', '10', '--alert-only');
  const { lines } = await type('budgets', companyId);
  expect(lines).toHaveLength(2);
  expect(lines[0]).toEndWith('the company: 0.000076 of 10 credits spent this month (alerts alone)');
  expect(lines[1]).toEndWith(
    'every end user: 0.000076 of 2.5 credits spent this month, most by "ada"; used up by 0 (refuses)',
  );
  expect((await type('set-budget', companyId, 'company', 'none')).exitCode).toBe(0);
  expect(await type('set-budget', companyId, 'company', 'none')).toMatchObject({ exitCode: 1 });
  const actions = await database.query<{ action: string }>(
    "select action from audit_log where object_kind = 'budget' order by id",
  );
  expect(actions.map(({ action }) => action)).toEqual(['budget.created', 'budget.created', 'budget.deleted']);
});

test('turnpike set-budget deletes the budget of a key by any of its rotations, and one whose name is typed with blanks', async () => {
  const parts = { database, secrets: createSystemSecrets(), clock: createManualClock() };
  const minted = await mintKey(parts, { companyId, name: 'key', createdBy: null });
  if (minted.outcome !== 'minted') throw new Error(minted.outcome);
  const rotated = await rotateKey(parts, { companyId, keyId: minted.key.id, createdBy: null });
  if (rotated.outcome !== 'rotated') throw new Error(rotated.outcome);
  for (const [scope, subject] of [
    ['key', rotated.key.id],
    ['project', ' web '],
  ] as const) {
    expect(await type('set-budget', companyId, scope, subject, '1')).toMatchObject({ exitCode: 0 });
    expect(await type('set-budget', companyId, scope, subject, 'none')).toMatchObject({ exitCode: 0 });
    expect(await type('set-budget', companyId, scope, subject, 'none')).toEqual({
      exitCode: 1,
      lines: [`! there is no such budget: turnpike budgets ${companyId} lists them`],
    });
  }
});

test('turnpike set-budget reports invalid arguments', async () => {
  expect(await type('set-budget', companyId, 'key', newId(), '1')).toEqual({
    exitCode: 1,
    lines: ['! give the id of one of your keys'],
  });
  for (const words of [
    ['company', 'x', '1'],
    ['team', 'x', '1'],
  ]) {
    expect(await type('set-budget', companyId, ...words)).toMatchObject({ exitCode: 2 });
  }
  const fraction = await type('set-budget', companyId, 'company', '0.0000001');
  expect(fraction.lines).toEqual([
    expect.stringContaining('CREDITS: "0.0000001" is not an amount of credits'),
  ]);
});
