import { beforeAll, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { typedCommand } from '../../../test/doubles/typed-command.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { addCompany, findCompany } from '../../domain/accounts/company.ts';
import { COMPANIES_TOPIC } from '../../domain/credits/ledger/credit-account.ts';
import { resumeCompanyCommand, suspendCompanyCommand } from './suspension-commands.ts';

const secrets = createSystemSecrets();
const sharedState = createInProcessState({ clock: createManualClock() });
const companyId = secrets.newId();
const database = useDatabase();

beforeAll(() => addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' }));

const suspend = (...words: string[]) =>
  typedCommand({ database, sharedState }, suspendCompanyCommand, ...words);
const resume = (...words: string[]) =>
  typedCommand({ database, sharedState }, resumeCompanyCommand, ...words);

test('suspends a company with its reason and resumes it; the gateways are notified and the audit log has both', async () => {
  const announced: string[] = [];
  await sharedState.subscribe(
    COMPANIES_TOPIC,
    (id) => void announced.push(id),
    () => {},
  );
  const { exitCode, lines } = await suspend(companyId, '--reason', 'Abuse');
  expect([exitCode, ...lines]).toEqual([0, `${companyId} is suspended: Abuse`]);
  expect(await findCompany(database, companyId)).toMatchObject({
    ...{ suspensionReason: 'Abuse', suspendedAt: expect.any(Date) },
  });
  expect((await resume(companyId)).exitCode).toBe(0);
  expect((await resume(companyId)).exitCode).toBe(0);
  expect(await findCompany(database, companyId)).toMatchObject({ suspensionReason: null, suspendedAt: null });
  const actions = await database.query<{ action: string }>(
    'select action from audit_log where object_id = $1 order by id',
    [companyId],
  );
  expect(actions.map(({ action }) => action)).toEqual(['company.suspended', 'company.resumed']);
  expect(new Set(announced)).toEqual(new Set([companyId]));
});

test('reports invalid arguments', async () => {
  expect((await suspend(companyId)).exitCode).toBe(2);
  expect((await suspend(companyId, '--reason', 'two\nlines')).exitCode).toBe(2);
  expect((await suspend('acme', '--reason', 'Abuse')).exitCode).toBe(2);
  expect((await resume(companyId, companyId)).exitCode).toBe(2);
  expect((await suspend(secrets.newId(), '--reason', 'Abuse')).lines[0]).toContain('no company');
  expect((await resume(secrets.newId())).exitCode).toBe(1);
});
