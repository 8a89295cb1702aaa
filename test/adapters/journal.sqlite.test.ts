import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockFile } from '../../src/adapters/journal/locked-file.ts';
import { openSqliteJournal } from '../../src/adapters/journal/sqlite-journal.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { callJournalContract, entries, entry } from '../contracts/call-journal.contract.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';

const PROGRAM = join(import.meta.dir, '../doubles/appending-process.ts');
const { newId } = createSystemSecrets();
let parent: string;
let made = 0;
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'turnpike-journal-'));
});
afterAll(() => rmSync(parent, { recursive: true, force: true }));

function newFolder(): string {
  made += 1;
  return join(parent, String(made));
}

function opened(folder: string, maxEntries = 100_000) {
  const { log, entries: logged } = createRecordingLog();
  return { journal: openSqliteJournal({ folder, maxEntries, newId, log }), logged };
}

callJournalContract('in a SQLite file', async (maxEntries) => {
  const folder = newFolder();
  const { journal } = opened(folder, maxEntries);
  return { journal, another: async () => opened(folder, maxEntries).journal, close: journal.close };
});

/** Kills it with -9 in the middle; the ids whose writing it had acknowledged. */
async function killedWhileAppending(folder: string, group: number, afterIds: number): Promise<string[]> {
  const child = Bun.spawn([process.execPath, PROGRAM, folder, String(group)], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  let text = '';
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk);
    if (text.length > afterIds * 37 && !child.killed) child.kill('SIGKILL');
  }
  await child.exited;
  return text.split('\n').filter((line) => line.length === 36);
}

describe('G-33 kill -9 in the middle of an append', () => {
  test('loses no acknowledged entry, ten times', async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      const folder = newFolder();
      const group = turn % 2 === 0 ? 1 : 40;
      const acknowledged = await killedWhileAppending(folder, group, 100 + turn * 37);
      expect(acknowledged.length).toBeGreaterThan(99);
      const { journal } = opened(folder);
      const taken = await journal.takeOver();
      const found = new Set((await taken?.oldest(1_000_000))?.map(({ id }) => id));
      expect(acknowledged.filter((id) => !found.has(id))).toEqual([]);
      // Whole groups, of which the last may not have been acknowledged any more.
      expect(found.size % group).toBe(0);
      expect(found.size).toBeLessThanOrEqual(acknowledged.length + group * 10);
      await taken?.close();
      await journal.close();
    }
  });

  test('the file of a living process is not taken, from outside either, and five takers share what it leaves', async () => {
    const folder = newFolder();
    const child = Bun.spawn([process.execPath, PROGRAM, folder, '1'], { stdout: 'pipe' });
    await child.stdout.getReader().read();
    const takers = Array.from({ length: 5 }, () => opened(folder).journal);
    for (const taker of takers) expect(await taker.takeOver()).toBeNull();
    child.kill('SIGKILL');
    await child.exited;
    const taken = (await Promise.all(takers.map((taker) => taker.takeOver()))).filter(
      (file) => file !== null,
    );
    expect(taken).toHaveLength(1);
    await Promise.all([...taken, ...takers].map((file) => file.close()));
  });
});

describe('G-33 a full disk', () => {
  test('rejects entries, removes charged ones, and is written again when there is space', async () => {
    const folder = newFolder();
    const program = join(import.meta.dir, '../doubles/full-disk-process.ts');
    const child = Bun.spawn([process.execPath, program, folder], { stdout: 'pipe', stderr: 'inherit' });
    const said = await new Response(child.stdout).json();
    const refused = { outcome: 'not-written', error: expect.stringContaining('free some disk of DATA_DIR') };
    const written = { outcome: 'written' };
    expect(said).toEqual({
      full: { append: refused, check: refused, waiting: 50 },
      removed: { waiting: 30, oldest: true },
      again: { check: written, append: written, waiting: 33 },
    });
    await child.exited;
    const { journal } = opened(folder);
    const taken = await journal.takeOver();
    expect(taken?.waiting()).toBe(33);
    await taken?.close();
    await journal.close();
  });
});

describe('G-33 the journal’s files', () => {
  test('are readable by their owner only, and are deleted when empty', async () => {
    const folder = newFolder();
    const { journal } = opened(folder);
    await journal.append(entries(1, 10));
    const modes = readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o777);
    expect(modes.length).toBeGreaterThan(0);
    expect(modes.every((mode) => mode === 0o600)).toBe(true);
    await journal.remove(entries(1, 10).map(({ id }) => id));
    await journal.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('shrink after an outage to their former megabyte, with the write-ahead log', async () => {
    const folder = newFolder();
    const { journal } = opened(folder);
    await journal.append(Array.from({ length: 10_000 }, (_, n) => entry(n, 'x'.repeat(600))));
    const size = () => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    expect(size()).toBeGreaterThan(6_000_000);
    await journal.remove(entries(0, 9_999).map(({ id }) => id));
    expect(size()).toBeLessThan(2_500_000);
    await journal.close();
  });

  test('a file that is not a journal is reported once and not changed; an incomplete one is deleted', async () => {
    const folder = newFolder();
    const { journal, logged } = opened(folder);
    writeFileSync(
      join(folder, `${newId()}.calls`),
      'this is not a database, nor has it ever been one'.repeat(100),
    );
    writeFileSync(join(folder, `${newId()}.calls`), '');
    writeFileSync(join(folder, `${newId()}.calls-wal`), 'left');
    writeFileSync(join(folder, 'notes.txt'), 'of another program');
    const halfMade = await journal.takeOver();
    expect(halfMade?.waiting()).toBe(0);
    await halfMade?.close();
    expect(await journal.takeOver()).toBeNull();
    expect(logged.filter(({ level }) => level === 'error')).toHaveLength(1);
    expect(readdirSync(folder).filter((name) => name.endsWith('-wal'))).toHaveLength(1);
    await journal.close();
    expect(readdirSync(folder)).toHaveLength(2);
  });

  test('a file that its owner has removed meanwhile is none, and no failure', () => {
    expect(lockFile(join(newFolder(), `${newId()}.calls`))).toBeNull();
  });
});
