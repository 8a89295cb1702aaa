import { beforeAll, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { typedCommand } from '../../../test/doubles/typed-command.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { addCompany, findCompany } from '../../domain/accounts/company.ts';
import type { SuspensionMail, SuspensionOutbox } from '../../domain/accounts/suspension.ts';
import { addUser } from '../../domain/accounts/user.ts';
import { COMPANIES_TOPIC } from '../../domain/credits/ledger/credit-account.ts';
import { resumeCompanyCommand, suspendCompanyCommand } from './suspension-commands.ts';

const secrets = createSystemSecrets();
const sharedState = createInProcessState({ clock: createManualClock() });
const companyId = secrets.newId();
const database = useDatabase();

const mails: SuspensionMail[] = [];
const mailOutbox: SuspensionOutbox = {
  async send(mail) {
    mails.push(mail);
    return { outcome: 'queued' };
  },
};

beforeAll(async () => {
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  const people = [
    { email: 'admin@acme.example', role: 'COMPANY_ADMIN' },
    { email: 'member@acme.example', role: 'MEMBER' },
  ] as const;
  for (const person of people) {
    const user = { ...person, id: secrets.newId(), companyId, isSuperAdmin: false };
    await addUser(database, secrets, { ...user, password: 'tall ladders at noon' });
  }
});

const suspend = (...words: string[]) =>
  typedCommand({ database, sharedState, mailOutbox }, suspendCompanyCommand, ...words);
const resume = (...words: string[]) =>
  typedCommand({ database, sharedState, mailOutbox }, resumeCompanyCommand, ...words);

test('suspends a company with its reason and resumes it; the gateways are notified, its admins get mails, and the audit log has both', async () => {
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
  const mail = { to: 'admin@acme.example', companyId };
  expect(mails).toEqual([
    {
      ...{ ...mail, kind: 'company-suspended' },
      data: { companyName: 'Acme', reason: 'Abuse', at: expect.any(Date) },
    },
    { ...mail, kind: 'company-resumed', data: { companyName: 'Acme', at: expect.any(Date) } },
  ]);
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
  expect((await suspend(secrets.newId(), '--reason', 'Abuse')).lines[0]).toContain('no company');
  expect((await resume(secrets.newId())).exitCode).toBe(1);
});
