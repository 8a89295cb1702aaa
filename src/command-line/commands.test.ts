import { describe, expect, test } from 'bun:test';
import { typedCommand } from '../../test/doubles/typed-command.ts';
import { useMemoryDatabase } from '../../test/setup/use-memory-database.ts';
import { EXIT_USAGE } from './command.ts';
import { COMMANDS, commandNamed, help, helpOf, nearestCommand } from './commands.ts';
import { examplesOf } from './examples.ts';
import { pricesCommand } from './model-commands.ts';

const database = useMemoryDatabase();
const wordsOf = (text: string) =>
  [...text.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');

describe('help', () => {
  test('lists every command, and what the exit codes mean', () => {
    for (const { name } of COMMANDS) expect(help()).toContain(`\n  ${name} `);
    expect(help()).toContain('Exit codes: 0 it is done; 1 it failed');
    expect(help()).toContain('--version');
  });

  for (const command of COMMANDS) {
    test(`${command.name} has examples, and none of them is typed wrongly`, async () => {
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

  test('a name that was mistyped leads to the nearest one', () => {
    expect(nearestCommand('verify-deploment')).toBe('verify-deployment');
    expect(nearestCommand('alias')).toBe('aliases');
    expect(nearestCommand('no-such-command')).toBeNull();
    expect(nearestCommand('x'.repeat(100_000))).toBeNull();
    expect(commandNamed('aliases')?.name).toBe('aliases');
  });

  test('prices name their unit, as JSON too', async () => {
    const json = await typedCommand({ database }, pricesCommand, '--json');
    const [first] = JSON.parse(json.lines.join('\n'));
    expect(first).toMatchObject({ unit: 'credits per million tokens', prompt: expect.anything() });
    expect((await typedCommand({ database }, pricesCommand, '--jsn')).exitCode).toBe(EXIT_USAGE);
  });
});
