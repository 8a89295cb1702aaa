import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingMessage, newestPostgres, postgresProgram } from './find-or-install.ts';

describe('finding PostgreSQL', () => {
  let parent = '';
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'find-'));
  });
  afterEach(() => rmSync(parent, { recursive: true, force: true }));

  function install(version: string, programs = ['initdb', 'postgres']) {
    mkdirSync(join(parent, version, 'bin'), { recursive: true });
    for (const program of programs) writeFileSync(join(parent, version, 'bin', program), '');
  }

  test('takes the newest version that is complete', () => {
    for (const version of ['9.6', '15', '16']) install(version);
    install('100');
    install('101', ['postgres']);
    expect(newestPostgres(parent)).toBe(join(parent, '100', 'bin'));
  });

  test('takes none below 15, and none where there is none', () => {
    install('14');
    expect(newestPostgres(parent)).toBeNull();
    expect(newestPostgres(join(parent, 'nowhere'))).toBeNull();
  });

  test('says what to install and which variable to set', () => {
    expect(missingMessage(postgresProgram)).toContain('apt-get install postgresql');
    expect(missingMessage(postgresProgram)).toContain('TEST_DATABASE_URL');
  });
});
