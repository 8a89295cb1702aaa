import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openWriteAheadLog, readLeftSegment } from '../../src/adapters/journal/write-ahead-log.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';

let parent: string;
let made = 0;
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'turnpike-write-ahead-'));
});
afterAll(() => rmSync(parent, { recursive: true, force: true }));

function newFolder(): string {
  made += 1;
  return join(parent, String(made));
}

const entry = (n: number) => {
  const id = `call-${n}`;
  return { id, record: JSON.stringify({ id, text: 'ü\n"' }) };
};

function opened(folder: string) {
  const { log, entries } = createRecordingLog();
  const ids = () => readLeftSegment({ folder, log }).entries.map(({ id }) => id);
  return { writeAheadLog: openWriteAheadLog({ folder, log }), log, logged: entries, ids };
}

describe('the write-ahead log', () => {
  test('G-33 appended entries are there for the next process, unchanged, until their segment is cleared', () => {
    const folder = newFolder();
    const { writeAheadLog, log, ids } = opened(folder);
    for (const n of [1, 2]) expect(writeAheadLog.append(entry(n))).toBe(true);
    const first = writeAheadLog.rotate();
    expect(writeAheadLog.append(entry(3))).toBe(true);
    const left = readLeftSegment({ folder, log });
    expect(left.entries).toEqual([entry(1), entry(2), entry(3)]);
    first.clear();
    expect(ids()).toEqual(['call-3']);
    writeAheadLog.rotate().clear();
    expect(ids()).toEqual([]);
  });

  test('two files alternate, are readable by their owner only, and are deleted with the log when empty', () => {
    const folder = newFolder();
    const { writeAheadLog } = opened(folder);
    for (let n = 0; n < 10; n += 1) {
      writeAheadLog.append(entry(n));
      const before = writeAheadLog.rotate();
      writeAheadLog.append(entry(n));
      before.clear();
      writeAheadLog.rotate().clear();
    }
    const names = readdirSync(folder);
    expect(names).toHaveLength(2);
    for (const name of names) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    writeAheadLog.close();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('a process that starts after another leaves its files until they are cleared', () => {
    const folder = newFolder();
    opened(folder).writeAheadLog.append(entry(1));
    const { writeAheadLog, log, ids } = opened(folder);
    const left = readLeftSegment({ folder, log });
    writeAheadLog.append(entry(2));
    expect(left.entries.map(({ id }) => id)).toEqual(['call-1']);
    left.clear();
    expect(ids()).toEqual(['call-2']);
  });

  test('a process that was killed within a line: the line is left out and reported, the others count, and the file goes', () => {
    const folder = newFolder();
    const { writeAheadLog, log, logged } = opened(folder);
    for (const n of [1, 2]) writeAheadLog.append(entry(n));
    const [name = ''] = readdirSync(folder);
    const whole = readFileSync(join(folder, name));
    // Whichever byte was the last one.
    for (let end = whole.indexOf('\n') + 2; end < whole.length - 1; end += 1) {
      writeFileSync(join(folder, name), whole.subarray(0, end));
      logged.length = 0;
      expect(readLeftSegment({ folder, log }).entries).toEqual([entry(1)]);
      expect(logged.map(({ level, message }) => [level, message.slice(0, 41)])).toEqual([
        ['warn', 'the write-ahead log ends within a line: a'],
      ]);
    }
    readLeftSegment({ folder, log }).clear();
    expect(readdirSync(folder)).toEqual([]);
  });

  test('a line that was changed is left out and reported, the others count, and the file is kept', () => {
    const folder = newFolder();
    const { writeAheadLog, log, logged, ids } = opened(folder);
    for (const n of [1, 2, 3]) writeAheadLog.append(entry(n));
    const [name = ''] = readdirSync(folder);
    const path = join(folder, name);
    writeFileSync(path, readFileSync(path, 'utf8').replace('"call-2","text":"ü', '"call-2","text":"u'));
    appendFileSync(path, 'abc {"id":"call-4"');
    expect(ids()).toEqual(['call-1', 'call-3']);
    expect(logged.map(({ level, context }) => [level, context])).toEqual([
      ['warn', { file: path }],
      ['error', { file: `${path}.damaged`, damaged: 1 }],
    ]);
    readLeftSegment({ folder, log }).clear();
    expect([readdirSync(folder), ids()]).toEqual([[`${name}.damaged`], []]);
    // The next file has another number, so that a second damaged one does not replace it.
    opened(folder).writeAheadLog.append(entry(5));
    expect(readdirSync(folder).sort()).toEqual([`${name}.damaged`, 'deferred-2.log']);
  });

  test('G-33 a full disk: an entry is refused completely, and those before and after it are there', async () => {
    const folder = newFolder();
    const program = join(import.meta.dir, '../doubles/full-write-ahead-log.ts');
    const child = Bun.spawn([process.execPath, program, folder], { stdout: 'pipe', stderr: 'inherit' });
    expect(await new Response(child.stdout).json()).toEqual({ before: true, full: false, after: true });
    await child.exited;
    expect(opened(folder).ids()).toEqual(['before', 'after']);
  });
});
