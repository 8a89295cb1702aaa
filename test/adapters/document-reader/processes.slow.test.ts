import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createDocumentReader,
  type DocumentReaderOptions,
} from '../../../src/adapters/document-reader/reader-pool.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createRecordingLog } from '../../doubles/recording-log.ts';
import { until } from '../../doubles/until.ts';

const utf8 = (text: string) => new TextEncoder().encode(text);
/** For each of its closing tags the parser looks through all that are open: hours of work in 6 MB. */
const HANGING = utf8(`<html>${'<b>'.repeat(800_000)}${'</i>'.repeat(900_000)}`);

function openReader(own: Partial<DocumentReaderOptions> = {}) {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const before = new Set(children());
  const reader = createDocumentReader({ clock, log, ...own });
  const started = () => children().filter((pid) => !before.has(pid));
  return { clock, entries, reader, started };
}

/** Reading processes of this one, as Linux lists them. */
function children(): readonly string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return (
        parentOf(pid) === process.pid &&
        readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('reading-process')
      );
    } catch {
      return false;
    }
  });
}

function isRunning(pid: number): boolean {
  try {
    // Where no parent waits for ended processes, they stay in the list as zombies.
    return process.kill(pid, 0) && !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

function parentOf(pid: string): number {
  return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
}

describe('G-7 the reader processes', () => {
  test('G-7 a process that hangs is killed after its time-out, and the next document is read', async () => {
    const { clock, reader, entries, started } = openReader();
    expect(await reader.read(utf8('first'))).toMatchObject({ outcome: 'read' });
    const [pid = 'none'] = started();
    const hanging = reader.read(HANGING);
    await clock.advance(19_999);
    const first = await Promise.race([hanging, Promise.resolve('not yet')]);
    expect(first).toBe('not yet');
    await clock.advance(1);
    expect(await hanging).toEqual({
      outcome: 'unreadable',
      reason: 'took-too-long',
      message: 'Reading the document took longer than 20 seconds. Send a simpler one, or its text.',
    });
    expect(started()).not.toContain(pid);
    expect(entries).toMatchObject([{ level: 'warn', context: { timeoutMs: 20_000 } }]);
    expect(await reader.read(utf8('next'))).toMatchObject({ outcome: 'read', text: 'next' });
    await reader.close();
    expect(clock.pendingTimers()).toBe(0);
  });

  test('G-7 documents wait for a process; when the queue is full or the wait is too long, the outcome is busy', async () => {
    const { clock, reader } = openReader({ processes: 1, maxWaiting: 2, waitMs: 5_000 });
    expect(await reader.read(utf8('warm'))).toMatchObject({ outcome: 'read' });
    const hanging = reader.read(HANGING);
    const waiting = [reader.read(utf8('second')), reader.read(utf8('third'))];
    expect(await reader.read(utf8('fourth'))).toMatchObject({ outcome: 'busy' });
    await clock.advance(5_000);
    expect(await Promise.all(waiting)).toMatchObject([{ outcome: 'busy' }, { outcome: 'busy' }]);
    await clock.advance(11_000);
    // The hanging read times out 20 s after it began; the waiting one gets its process then.
    const served = reader.read(utf8('fifth'));
    await clock.advance(4_000);
    expect(await hanging).toMatchObject({ reason: 'took-too-long' });
    expect(await served).toMatchObject({ outcome: 'read', text: 'fifth' });
    expect(await reader.read(utf8('sixth'))).toMatchObject({ outcome: 'read', text: 'sixth' });
    await reader.close();
  });

  test('G-7 they have none of our environment, and exit after five minutes without work', async () => {
    const { clock, reader, started } = openReader();
    await reader.read(utf8('x'));
    if (process.platform === 'linux') {
      const environment = readFileSync(`/proc/${started()[0]}/environ`, 'utf8');
      expect(environment).not.toContain('PATH=');
      await clock.advance(5 * 60_000);
      await until(() => started().length === 0);
    }
    expect(await reader.read(utf8('again'))).toMatchObject({ outcome: 'read' });
    await reader.close();
  });

  test('G-7 a process killed during a read makes the document unreadable, and close ends reads in progress', async () => {
    const { reader, started } = openReader();
    await reader.read(utf8('x'));
    if (process.platform === 'linux') {
      const reading = reader.read(HANGING);
      process.kill(Number(started()[0]), 'SIGTERM');
      expect(await reading).toMatchObject({ outcome: 'unreadable', reason: 'broken' });
    }
    const underWay = reader.read(HANGING);
    await reader.close();
    expect(await underWay).toMatchObject({ outcome: 'busy' });
    const error = await reader.read(utf8('x')).catch((failure) => failure);
    expect(error).toBeInstanceOf(Error);
    expect(started()).toEqual([]);
  });

  test.skipIf(process.platform !== 'linux')(
    'G-7 one whose parent was killed does not stay behind, busy as it is',
    async () => {
      const program = join(import.meta.dir, 'killed-parent.ts');
      const parent = Bun.spawn([process.execPath, program], { stdout: 'pipe', stderr: 'inherit' });
      const { value } = await parent.stdout.getReader().read();
      const pid = Number(new TextDecoder().decode(value));
      expect(isRunning(pid)).toBe(true);
      parent.kill('SIGKILL');
      await parent.exited;
      await until(() => !isRunning(pid));
    },
  );

  test('G-7 a file past its bound is refused before it reaches a process', async () => {
    const { reader, started } = openReader({ limits: { maxBytes: 10 } });
    expect(await reader.read(utf8('eleven byte'))).toEqual({
      outcome: 'too-large',
      message: 'The file has 11 bytes, and 10 are allowed: send a smaller one.',
    });
    expect(started()).toEqual([]);
    expect(await reader.read(utf8('eleven byte'), { maxBytes: 11 })).toMatchObject({ outcome: 'read' });
    await reader.close();
  });
});
