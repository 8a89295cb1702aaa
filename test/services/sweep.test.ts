import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isTestRunner, sweepStaleFolders } from './sweep.ts';

describe('sweep', () => {
  let parent = '';
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'sweep-'));
  });
  afterEach(() => rmSync(parent, { recursive: true, force: true }));

  test('removes the folder of a runner that has ended, with its content', () => {
    mkdirSync(join(parent, 'turnpike-test-4242-aBc123', 'postgresql', 'data'), { recursive: true });
    writeFileSync(join(parent, 'turnpike-test-4242-aBc123', 'postgresql.log'), 'stopped');
    expect(sweepStaleFolders([parent], () => false)).toEqual([join(parent, 'turnpike-test-4242-aBc123')]);
    expect(readdirSync(parent)).toEqual([]);
  });

  test('keeps the folder of a running runner', () => {
    mkdirSync(join(parent, 'turnpike-test-4242-aBc123'));
    mkdirSync(join(parent, 'turnpike-test-4243-aBc123'));
    sweepStaleFolders([parent], (pid) => pid === 4242);
    expect(readdirSync(parent)).toEqual(['turnpike-test-4242-aBc123']);
  });

  test('removes a folder with its own process id, left by an earlier process', () => {
    mkdirSync(join(parent, `turnpike-test-${process.pid}-aBc123`));
    sweepStaleFolders([parent], () => true);
    expect(readdirSync(parent)).toEqual([]);
  });

  test('removes builds of single runs, once they are a day old', () => {
    for (const name of ['turnpike-built-0-aaaaaaaa', 'turnpike-built-0-bbbbbbbb'])
      mkdirSync(join(parent, name));
    const yesterday = Date.now() / 1_000 - 25 * 60 * 60;
    utimesSync(join(parent, 'turnpike-built-0-aaaaaaaa'), yesterday, yesterday);
    sweepStaleFolders([parent], () => true);
    expect(readdirSync(parent)).toEqual(['turnpike-built-0-bbbbbbbb']);
  });

  test('keeps everything with another name, files, links, and a parent that does not exist', () => {
    for (const name of ['turnpike-test-', 'turnpike-test-x-abc', 'turnpike-test-12', 'other-12-abc']) {
      mkdirSync(join(parent, name));
    }
    writeFileSync(join(parent, 'turnpike-test-12-file'), '');
    symlinkSync('/', join(parent, 'turnpike-test-12-link'));
    expect(sweepStaleFolders([parent, join(parent, 'nowhere')], () => false)).toEqual([]);
    expect(readdirSync(parent)).toHaveLength(6);
  });

  test('a bare run of tests is a runner; a process id that now belongs to another program is none', async () => {
    expect(isTestRunner(process.pid)).toBe(true);
    const other = spawn('sleep', ['60']);
    try {
      expect(isTestRunner(other.pid ?? 0)).toBe(false);
    } finally {
      other.kill('SIGKILL');
    }
    expect(isTestRunner(2 ** 30)).toBe(false);
  });
});
