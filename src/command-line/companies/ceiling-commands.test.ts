import { beforeAll, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { typedCommand } from '../../../test/doubles/typed-command.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { findCeilings, NO_CEILINGS, storeDefaultCeilings } from '../../domain/accounts/ceilings.ts';
import { addCompany } from '../../domain/accounts/company.ts';
import { commandNamed } from '../commands.ts';

const secrets = createSystemSecrets();
const clock = createManualClock();
const sharedState = createInProcessState({ clock });
const companyId = secrets.newId();
const database = useDatabase();

beforeAll(async () => {
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
});

async function type(name: string, ...words: string[]) {
  const command = commandNamed(name);
  if (command === null || command === undefined) throw new Error(`there is no such command: ${name}`);
  return await typedCommand({ database, sharedState }, command, ...words);
}

describe('turnpike ceilings and set-ceilings', () => {
  test('sets the named ceilings, keeps the others, removes one with none, and records it', async () => {
    expect((await type('ceilings', companyId)).lines).toContain('apiKeys: none');
    const set = await type('set-ceilings', companyId, '--api-keys', '5', '--requests-per-minute', '600');
    expect([set.exitCode, set.lines[0]]).toEqual([0, 'requestsPerMinute: 600']);
    await type('set-ceilings', companyId, '--requests-per-minute', 'none');
    expect(await findCeilings(database, companyId)).toEqual({ ...NO_CEILINGS, apiKeys: 5 });
    const entries = await database.query<{ details: object }>(
      `select details from audit_log where action = 'company.ceilings-set' order by id`,
    );
    expect(entries.map(({ details }) => details)).toEqual([
      { requestsPerMinute: 600, apiKeys: 5 },
      { requestsPerMinute: null },
    ]);
  });

  test('reports invalid arguments', async () => {
    expect((await type('set-ceilings', companyId, '--members', '0')).lines[0]).toContain(
      'members: a whole number',
    );
    expect((await type('set-ceilings', secrets.newId(), '--members', '3')).lines[0]).toContain('no company');
    expect((await type('set-ceilings', companyId, '--api-keys', 'many')).exitCode).toBe(2);
  });

  test('a new company starts with the defaults of the settings; existing ones keep theirs', async () => {
    await storeDefaultCeilings(database, { ...NO_CEILINGS, documentsPerDay: 20, members: 3 });
    const added = secrets.newId();
    await addCompany(database, { id: added, name: 'New', billingMode: 'PREPAID' });
    expect(await findCeilings(database, added)).toEqual({ ...NO_CEILINGS, documentsPerDay: 20, members: 3 });
    expect(await findCeilings(database, companyId)).toEqual({ ...NO_CEILINGS, apiKeys: 5 });
    await storeDefaultCeilings(database, NO_CEILINGS);
    const later = secrets.newId();
    await addCompany(database, { id: later, name: 'Later', billingMode: 'PREPAID' });
    expect(await findCeilings(database, later)).toEqual(NO_CEILINGS);
  });
});
