import { describe, expect, test } from 'bun:test';
import { checkDocPaths } from './doc-paths.ts';
import { treeOf } from './made-up-tree.ts';

const FILES = {
  'src/http/listen.ts': '',
  'src/domain/keys/raw-key.ts': '',
  'src/domain/keys/audit/audit-key.ts': '',
  'migrations/0001_keys.sql': '',
  'decisions/0001-bun.md': '',
};

const find = (path: string, text: string) =>
  checkDocPaths(treeOf({ ...FILES, [path]: text })).map((finding) => `${finding.path}:${finding.line}`);

describe('rule 14: a path that a document names exists', () => {
  test.each([
    'the server is in `src/http/gone.ts`',
    'see `src/httpd`',
    'see `listen-twice.ts`',
    'run `bun test src/http/gone.test.ts`',
    'see `src/http/stop*.ts`',
    'see `migrations/0002_gone.sql`',
    '[why](../decisions/0002-gone.md)',
  ])('%s is found', (text) => {
    expect(find('docs/a.md', `# A\n\n${text}.\n`)).toEqual(['docs/a.md:3']);
  });

  test.each([
    'the server is in `src/http/listen.ts`, `src/http` and `src/http/`',
    'see `listen.ts`, `http/listen.ts`, `keys/audit/audit-*.ts` and `src/*/listen.ts`',
    'run `bun test src/http/listen.ts`, `npm start`, `a/b`',
    'copy `bench/<name>.ts`, write `src/domain/…`, read `.data/demo.json`, call `/v1/models`',
    '```sh\nbun src/http/gone.ts\n```',
    '[why](../decisions/0001-bun.md#cost), [here](#a), [there](https://example.org/a.md)',
  ])('%s is fine', (text) => {
    expect(find('docs/a.md', `# A\n\n${text}\n`)).toEqual([]);
  });

  test('a README means the files below its folder', () => {
    expect(find('src/domain/keys/README.md', '`raw-key.ts`, `audit-key.ts`, `src/http/listen.ts`')).toEqual(
      [],
    );
    expect(find('src/domain/keys/README.md', '`listen.ts`')).toEqual(['src/domain/keys/README.md:1']);
  });

  test('history may name what is gone', () => {
    expect(find('CHANGELOG.md', '`src/http/gone.ts`')).toEqual([]);
  });
});
