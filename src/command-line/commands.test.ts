import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { typedCommand } from '../../test/doubles/typed-command.ts';
import { useDatabase } from '../../test/setup/use-database.ts';
import { openParquetFolder } from '../adapters/table-files/parquet-folder.ts';
import { addCompany } from '../domain/accounts/company.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import { EXIT_USAGE, printJson } from './command.ts';
import { COMMANDS, commandNamed, commandsPage, helpOf, nearestCommand, unknownOption } from './commands.ts';
import { queueCommand, redriveCommand } from './deployment-commands.ts';
import { examplesOf } from './examples.ts';

const database = useDatabase();
const wordsOf = (text: string) =>
  [...text.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');

describe('help', () => {
  test('docs/command-line.md matches the commands; npm run turnpike -- commands writes it', async () => {
    const written = await Bun.file(new URL('../../docs/command-line.md', import.meta.url)).text();
    expect(written).toBe(commandsPage());
  });

  for (const command of COMMANDS) {
    test(`${command.name} has examples, and all of them are valid`, async () => {
      const examples = examplesOf(command.name);
      expect(examples.length).toBeGreaterThan(0);
      for (const example of examples) {
        const [name, ...words] = wordsOf(example);
        expect(name).toBe(command.name);
        expect(helpOf(command)).toContain(`  turnpike ${example}\n`);
        // Without a network or a queue it goes no further than it can here.
        if (command.works === 'alone') continue;
        const typed = await typedCommand({ database }, command, ...words).catch(() => null);
        expect([example, typed?.exitCode]).not.toEqual([example, EXIT_USAGE]);
      }
    });
  }

  test('lists of an unknown company fail instead of being empty', async () => {
    const unknownId = '00000000-0000-4000-8000-000000000000';
    for (const name of ['keys', 'invoices', 'service-tokens', 'budgets', 'ceilings']) {
      const command = commandNamed(name);
      if (command === null) throw new Error(`there is no command ${name}`);
      const message = `! there is no company ${unknownId}: turnpike companies lists them`;
      expect(await typedCommand({ database }, command, unknownId)).toEqual({ exitCode: 1, lines: [message] });
      expect(await typedCommand({ database }, command, 'nonsense')).toMatchObject({ exitCode: EXIT_USAGE });
    }
  });

  test('an unknown queue fails and the existing ones are named', async () => {
    const jobQueue = { names: () => ['cv', 'mail'] } as unknown as JobQueue;
    for (const command of [queueCommand, redriveCommand]) {
      const typed = await typedCommand({ database, jobQueue }, command, 'mial');
      expect(typed).toEqual({ exitCode: 1, lines: ['! there is no queue mial; the queues are cv, mail'] });
    }
  });

  test('an unknown option shows the usage, whichever the command, and nothing is changed', async () => {
    const jobQueue = { names: () => ['cv'] } as unknown as JobQueue;
    const others: string[] = [];
    for (const command of COMMANDS) {
      for (const example of examplesOf(command.name)) {
        const [, ...words] = wordsOf(example);
        for (const typed of [
          [...words, '--no-such-option'],
          ['--no-such-option', ...words],
        ]) {
          const { exitCode, lines } = await typedCommand({ database, jobQueue }, command, ...typed);
          const isUsage = lines[0]?.startsWith(`! usage: turnpike ${command.name}`) === true;
          if (exitCode !== EXIT_USAGE || !isUsage)
            others.push(`${command.name} ${typed.join(' ')}: ${lines[0]}`);
        }
      }
    }
    expect(others).toEqual([]);
  });

  test('an unknown option in the place of a reason is found, and known ones and numbers below zero are not', () => {
    const words = ['01a1ede3-44ba-739e-a51c-5638f87629aa', '--json'];
    expect(unknownOption({ usage: 'INVOICE_ID REASON' }, words)).toBe('--json');
    expect(
      unknownOption({ usage: 'ID CREDITS [--line N]' }, ['a', '-12.5', '--line=3', '-- twice']),
    ).toBeNull();
  });

  test('a mistyped name suggests the nearest one', () => {
    expect(nearestCommand('verify-deploment')).toBe('verify-deployment');
    expect(nearestCommand('alias')).toBe('aliases');
    expect(nearestCommand('no-such-command')).toBeNull();
    expect(nearestCommand('x'.repeat(100_000))).toBeNull();
    expect(commandNamed('aliases')?.name).toBe('aliases');
  });

  test('every command that lists prints JSON with --json', async () => {
    const companyId = crypto.randomUUID();
    await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
    const lists = ['companies', 'aliases', 'prices', 'plans', 'plan-rates', 'other-invoice-lines'];
    const more = ['set-aside-calls', 'withheld-usage', 'payment-events', 'deactivate-stale-subscriptions'];
    const ofCompany = ['keys', 'service-tokens', 'invoices'].map((name) => [name, companyId]);
    for (const [name = '', ...words] of [...[...lists, ...more].map((one) => [one]), ...ofCompany]) {
      const command = commandNamed(name);
      if (command === null) throw new Error(`there is no command ${name}`);
      // Anywhere among the words.
      const { exitCode, lines } = await typedCommand({ database }, command, '--json', ...words);
      expect([name, exitCode, Array.isArray(JSON.parse(lines.join('\n')))]).toEqual([name, 0, true]);
    }
  });

  test('JSON has exact credits without the unit in their names, and times in UTC', () => {
    const lines: string[] = [];
    const value = {
      balanceMicro: 9_007_199_254_740_993_000_000n,
      limitMicro: null,
      tokens: 12n,
      at: new Date(0),
    };
    printJson({ print: (line) => void lines.push(line), complain: () => {} }, [value]);
    expect(JSON.parse(lines.join('\n'))).toEqual([
      { balance: '9007199254740993', limit: null, tokens: 12, at: '1970-01-01T00:00:00.000Z' },
    ]);
  });

  test('a closed pipe ends the command without a stack trace', () => {
    const program = new URL('../start/turnpike.ts', import.meta.url).pathname;
    const { stderr } = Bun.spawnSync([
      'sh',
      '-c',
      `'${process.execPath}' '${program}' providers | head -n 1`,
    ]);
    expect(stderr.toString()).toBe('');
  });
});

describe('export-calls', () => {
  const command = commandNamed('export-calls');
  const parts = { database, tableFiles: async (folder: string) => openParquetFolder(folder) };

  test('writes to an existing folder, and reports how much', async () => {
    if (command === null) throw new Error('there is no such command');
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-export-'));
    const { exitCode, lines } = await typedCommand(parts, command, '--out', folder, '--json');
    expect([exitCode, JSON.parse(lines.join(''))]).toEqual([0, { files: 0, calls: 0, unchanged: 0 }]);
    rmSync(folder, { recursive: true });
    expect(await typedCommand(parts, command, '--out', folder)).toMatchObject({ exitCode: 1 });
    expect(await typedCommand(parts, command, '--out', 'here')).toMatchObject({ exitCode: EXIT_USAGE });
    expect(await typedCommand(parts, command, '--out', '/', '--from', 'then')).toMatchObject({
      exitCode: EXIT_USAGE,
    });
  });
});
