/** The first two rules of tidy.test.ts shown to find what they are for, on trees that break them. */
import { describe, expect, test } from 'bun:test';
import { checkImportTable } from './import-table.ts';
import { checkDependencies, checkLibraryHomes } from './library-homes.ts';
import { places, treeOf } from './made-up-tree.ts';

describe('rule 1: imports follow the table', () => {
  const from = (path: string, ...targets: string[]) =>
    checkImportTable(
      treeOf({ [path]: targets.map((target) => `import { a } from '${target}';`).join('\n') }),
    );

  test.each([
    ['src/gateway/a.ts', '../adapters/clock/system.ts'],
    ['src/gateway/a.ts', '../backend/b.ts'],
    ['src/gateway/a.ts', '../start/connect.ts'],
    ['src/http/a.ts', '../domain/keys/b.ts'],
    ['src/ports/a.ts', '../domain/keys/b.ts'],
    ['src/domain/credits/a.ts', '../payments/b.ts'],
    ['src/domain/mail/a.ts', '../accounts/b.ts'],
    ['src/domain/keys/a.ts', '../../http/b.ts'],
    ['src/adapters/job-queue/a.ts', '../database/b.ts'],
    ['src/start/a.ts', '../../test/b.ts'],
    ['src/domain/keys/a.ts', './a.test.ts'],
    ['console/a.ts', '../src/ports/b.ts'],
    ['src/surprise/a.ts', './b.ts'],
    ['src/domain/a.ts', './keys/b.ts'],
  ])('%s may not import %s', (path, target) => {
    expect(places(from(path, target))).toEqual([`${path}:1`]);
  });

  test('type-only, dynamic and re-exporting imports count, and so does a thread', () => {
    const lines = [
      "import type { A } from '../adapters/a.ts';",
      "const b = import('../adapters/b/b.ts');",
      "export * from '../adapters/b/c.ts';",
      "new Worker(new URL('../adapters/b/d.ts', import.meta.url));",
      'const e = import(somewhere);',
    ];
    const findings = checkImportTable(treeOf({ 'src/gateway/a.ts': lines.join('\n') }));
    expect(findings.map((finding) => finding.line)).toEqual([1, 2, 3, 4, 5]);
  });

  test('what the table allows is fine', () => {
    expect(
      from('src/gateway/a.ts', './b.ts', '../domain/keys/b.ts', '../ports/b.ts', '../http/b.ts'),
    ).toEqual([]);
    expect(from('src/start/a.ts', '../adapters/clock/b.ts', '../backend/b.ts', '../../package.json')).toEqual(
      [],
    );
    expect(from('src/domain/payments/a.ts', './b.ts', '../credits/b.ts', '../../ports/b.ts')).toEqual([]);
    expect(from('src/adapters/database/a.ts', './b.ts', '../../ports/b.ts')).toEqual([]);
    expect(from('test/a.ts', '../src/adapters/clock/b.ts', '../bench/b.ts')).toEqual([]);
    expect(from('src/domain/keys/a.test.ts', '../../adapters/clock/b.ts', '../../../test/b.ts')).toEqual([]);
  });
});

describe('rule 2: every library has its home', () => {
  test.each([
    ['src/ports/a.ts', "import { z } from 'zod';"],
    ['src/domain/keys/a.ts', "import { SignJWT } from 'jose';"],
    ['src/adapters/job-queue/a.ts', "import { PGlite } from '@electric-sql/pglite/live';"],
    ['src/backend/a.ts', "import PgBoss from 'pg-boss';"],
    ['src/gateway/a.ts', "import { SQL } from 'bun';"],
    ['src/gateway/a.ts', "import { Database } from 'bun:sqlite';"],
    ['src/gateway/a.ts', 'const hash = Bun.hash(text);'],
    ['src/domain/keys/a.ts', "import { createHash } from 'node:crypto';"],
    ['src/gateway/a.ts', "import leftPad from 'left-pad';"],
    ['test/a.ts', "import leftPad from 'left-pad';"],
  ])('%s: %s', (path, text) => {
    expect(places(checkLibraryHomes(treeOf({ [path]: text })))).toEqual([`${path}:1`]);
  });

  test('at home they are fine, and tests may use them all', () => {
    const tree = treeOf({
      'src/domain/accounts/a.ts': "import { SignJWT } from 'jose';\nimport { z } from 'zod';",
      'src/adapters/database/a.ts':
        "import { SQL } from 'bun';\nimport { join } from 'node:path';\nBun.hash('');",
      'src/gateway/a.ts': "import { Hono } from 'hono';\nconst text = 'Bun.serve'; window.Bun.serve();",
      'src/domain/keys/a.test.ts': "import { test } from 'bun:test';\nimport { SignJWT } from 'jose';",
    });
    expect(checkLibraryHomes(tree)).toEqual([]);
  });

  const homes = [{ name: 'zod', homes: ['src/'], reason: 'made up' }];
  const manifest = (version: string) =>
    JSON.stringify({ dependencies: { zod: version }, devDependencies: { '@types/zod': '1.0.0' } });

  test.each(['^4.0.0', '~4.0.0', '4', '>=4.0.0', 'latest'])('the version %s is not exact', (version) => {
    const docs = '| package | why |\n|---|---|\n| `zod` | checks |\n- **@types/zod**: types';
    const tree = treeOf({ 'package.json': manifest(version), 'docs/dependencies.md': docs });
    expect(places(checkDependencies(tree, homes, []))).toEqual(['package.json:1']);
    const exact = treeOf({ 'package.json': manifest('4.6.7'), 'docs/dependencies.md': docs });
    expect(checkDependencies(exact, homes, [])).toEqual([]);
  });

  test('a dependency needs its own line of reasons, and a row needs its dependency', () => {
    const docs = '- `@types/zod` is for zod\n- zodiac is another one';
    const tree = treeOf({ 'package.json': manifest('4.6.7'), 'docs/dependencies.md': docs });
    expect(checkDependencies(tree, homes, [])).toHaveLength(1);
    expect(checkDependencies(treeOf({ 'package.json': manifest('4.6.7') }), homes, [])).toHaveLength(2);
    expect(checkDependencies(treeOf({ 'package.json': '{}' }), homes, ['typescript'])).toHaveLength(2);
  });
});
