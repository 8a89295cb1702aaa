import { beforeAll, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../test/doubles/manual-clock.ts';
import { type TypedParts, typedCommand } from '../../test/doubles/typed-command.ts';
import { useDatabase } from '../../test/setup/use-database.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../adapters/shared-state/in-process.ts';
import { addCompany } from '../domain/accounts/company.ts';
import { addUser } from '../domain/accounts/user.ts';
import { isWellFormed } from '../domain/keys/api-key.ts';
import { commandNamed } from './commands.ts';

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
  if (command === null) throw new Error(`there is no such command: ${name}`);
  return await typedCommand({ database, sharedState, aliasPrefix: 'svc' } as TypedParts, command, ...words);
}

async function mint(...words: string[]) {
  const { exitCode, lines } = await type('mint-key', companyId, ...words);
  expect(exitCode).toBe(0);
  return { id: lines[0]?.split(' ')[0] ?? '', rawKey: lines[1]?.split(': ')[1] ?? '' };
}

describe('the commands for keys', () => {
  test('G-19 mint-key shows the key, keys does not', async () => {
    const options = [
      '--scopes',
      'jobs:read, usage:read',
      '--models=svc/chat-cheap,svc/chat-default',
      '--rpm',
      '5',
      '--tpm',
      '6',
    ];
    const { id, rawKey } = await mint(
      'Nightly',
      ...options,
      '--in-flight',
      '7',
      '--expires',
      '2031-12-31T23:00Z',
      '--stream-usage-chunk=asked',
      '--project=web site',
    );
    expect(isWellFormed(rawKey)).toBe(true);
    const { lines } = await type('keys', companyId);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`${id} LIVE ${rawKey.slice(0, 8)}…${rawKey.slice(-4)} "Nightly" `);
    expect(lines[0]).toContain(
      '(scopes usage:read,jobs:read; models svc/chat-cheap,svc/chat-default; 5 RPM; 6 TPM; 7 in flight; expires 2031-12-31T23:00:00.000Z; usage chunk asked; project "web site"; ',
    );
    expect(lines[0]).not.toContain(rawKey.slice(8, -4));
  });

  test('an invalid value is reported by the name of its option, and nothing is minted', async () => {
    const before = (await type('keys', companyId)).lines.length;
    for (const [option, value] of [
      ['--scopes', 'x'],
      ['--models', 'svc/chat-cheap,svc/chat-typo'],
      ['--rpm', 'many'],
      ['--stream-usage-chunk', 'never'],
      ['--project', 'p'.repeat(65)],
      ['--in-flight', '1.5'],
      ['--expires', 'tomorrow'],
    ] as const) {
      const { exitCode, lines } = await type('mint-key', companyId, 'Bad', option, value);
      expect(lines.join()).toStartWith(`! ${option}: `);
      expect(exitCode).toBe(1);
    }
    expect(await type('mint-key', companyId, '')).toMatchObject({
      exitCode: 1,
      lines: ['! NAME: a key needs a name'],
    });
    expect(await type('mint-key', companyId, 'a', 'b')).toMatchObject({ exitCode: 2 });
    const nowhere = await type('mint-key', secrets.newId(), 'Bad');
    expect(nowhere.lines.join()).toContain('turnpike companies lists them');
    expect((await type('keys', companyId)).lines).toHaveLength(before);
  });

  test('G-22 G-23 rotate-key mints a sibling, revoke-key revokes the old one', async () => {
    const old = await mint('Old');
    const rotated = await type('rotate-key', companyId, old.id);
    expect(rotated.exitCode).toBe(0);
    expect(isWellFormed(rotated.lines[1]?.split(': ')[1] ?? '')).toBe(true);
    expect(rotated.lines[2]).toContain(`turnpike revoke-key ${companyId} ${old.id}`);
    expect(await type('revoke-key', companyId, old.id)).toEqual({
      exitCode: 0,
      lines: [`${old.id} is revoked since ${new Date(clock.now()).toISOString()}`],
    });
    const { lines } = await type('keys', companyId);
    expect(lines.find((line) => line.startsWith(old.id))).toContain(' REVOKED ');
    expect(lines.find((line) => line.includes(`rotated from ${old.id}`))).toContain(' LIVE ');
    expect(await type('rotate-key', companyId, old.id)).toMatchObject({ exitCode: 1 });
    expect(await type('revoke-key', companyId, secrets.newId())).toMatchObject({ exitCode: 1 });
  });

  test('G-22 rotate-key of a key that expires requires the expiry of the new one', async () => {
    const { id } = await mint('Short', '--expires', '2031-12-31T23:00Z');
    const asked = await type('rotate-key', companyId, id);
    expect(asked).toMatchObject({ exitCode: 1 });
    expect(asked.lines.join()).toContain('expires at 2031-12-31T23:00:00.000Z: say when the new one does');
    for (const expires of ['2033-01-01T00:00Z', 'never']) {
      expect((await type('rotate-key', companyId, id, '--expires', expires)).exitCode).toBe(0);
    }
  });

  test('a key may be paid by a member: --payer uses that balance, and others are refused', async () => {
    const addMember = async (email: string, company: string) => {
      const id = secrets.newId();
      const account = { companyId: company, role: 'MEMBER', isSuperAdmin: false } as const;
      await addUser(database, secrets, { ...account, id, email, password: 'a long password indeed' });
      return id;
    };
    const otherId = secrets.newId();
    await addCompany(database, { id: otherId, name: 'Other', billingMode: 'PREPAID' });
    const ada = await addMember('ada@payer.example', companyId);
    await addMember('eve@payer.example', otherId);
    const words = ['Ada', '--payer', 'ada@payer.example', '--spending-limit', '12.5', '--json'];
    const { exitCode, lines } = await type('mint-key', companyId, ...words);
    const minted = JSON.parse(lines.join('\n'));
    expect([exitCode, minted.payerUserId, minted.monthlySpendingLimit]).toEqual([0, ada, '12.5']);
    expect(isWellFormed(minted.rawKey)).toBe(true);
    const listed = await type('keys', companyId);
    expect(listed.lines.join('\n')).toContain(`at most 12.5 credits a month; paid by user ${ada}`);
    expect((await type('keys', companyId, '--json')).lines.join('\n')).not.toContain(minted.rawKey);
    for (const payer of ['eve@payer.example', 'nobody@payer.example']) {
      const refused = await type('mint-key', companyId, 'Eve', '--payer', payer);
      expect(refused).toEqual({
        exitCode: 1,
        lines: [`! --payer: company ${companyId} has no member ${payer}`],
      });
    }
  });
});
