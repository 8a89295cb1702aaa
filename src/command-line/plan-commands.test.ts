import { beforeAll, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../test/doubles/manual-clock.ts';
import { typedCommand } from '../../test/doubles/typed-command.ts';
import { useDatabase } from '../../test/setup/use-database.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { addCompany, findCompany } from '../domain/accounts/company.ts';
import { createPlan } from '../domain/catalog/plan.ts';
import { assignPlanCommand, plansCommand } from './plan-commands.ts';

const secrets = createSystemSecrets();
const database = useDatabase();
const companyId = secrets.newId();
let postpaid = '';
let prepaid = '';

beforeAll(async () => {
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  postpaid = await plan('Enterprise', 'POSTPAID');
  prepaid = await plan('Team', 'PREPAID');
});

async function plan(name: string, billingMode: 'PREPAID' | 'POSTPAID'): Promise<string> {
  const parts = { statements: database, secrets, clock: createManualClock() };
  const offer = { name, description: null, price: '20', currency: 'eur', creditsMicro: 1_000_000_000n };
  const created = await createPlan(parts, { ...offer, billingMode, active: true, interval: 'MONTH' });
  if (created.outcome !== 'created') throw new Error(JSON.stringify(created));
  return created.plan.id;
}
const assign = (...words: string[]) => typedCommand({ database }, assignPlanCommand, ...words);

describe('the commands for plans', () => {
  test('plans lists ids, modes and prices', async () => {
    const { lines } = await typedCommand({ database }, plansCommand);
    expect(lines).toContain(`${postpaid} POSTPAID 20.00 eur a month, 1000 credits: Enterprise`);
    const json = await typedCommand({ database }, plansCommand, '--json');
    const shown = JSON.parse(json.lines.join('\n'));
    expect(shown).toContainEqual(
      expect.objectContaining({ id: prepaid, billingMode: 'PREPAID', price: '20.00', credits: '1000' }),
    );
  });

  test('assign-plan assigns a POSTPAID plan to a company, and records the operator', async () => {
    const done = await assign(companyId, postpaid, '--line', '500', '--due-days', '30', '--invoice-day', '5');
    expect(done.lines).toEqual([`${companyId} is on plan "Enterprise" with a line of 500 credits`]);
    expect(await findCompany(database, companyId)).toMatchObject({
      billingMode: 'POSTPAID',
      creditLimitMicro: 500_000_000n,
    });
    const entries = await database.query<{ details: object }>(
      `select details from audit_log where action = 'company.plan-assigned' and company_id = $1`,
      [companyId],
    );
    expect(entries.map(({ details }) => details)).toEqual([
      { planId: postpaid, plan: 'Enterprise', creditLimit: '500', dueDays: 30, invoiceDay: 5 },
    ]);
  });

  test('an invalid assignment changes nothing and is explained', async () => {
    const other = secrets.newId();
    await addCompany(database, { id: other, name: 'Other', billingMode: 'PREPAID' });
    for (const [words, message] of [
      [[other, prepaid], 'PLAN_ID: Plan "Team" is PREPAID'],
      [[other, postpaid, '--invoice-day', '31'], '--invoice-day: '],
      [[postpaid, postpaid], `there is no company ${postpaid}`],
    ] as const) {
      const { exitCode, lines } = await assign(...words);
      expect([exitCode, lines[0]]).toEqual([1, expect.stringContaining(message)]);
    }
    expect(await findCompany(database, other)).toMatchObject({ billingMode: 'PREPAID' });
    expect(await assign(other, postpaid, '--line', '5,000')).toEqual({
      exitCode: 2,
      lines: [expect.stringContaining('--line: "5,000" is not an amount of credits')],
    });
  });
});
