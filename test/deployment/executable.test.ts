import { expect, test } from 'bun:test';
import { carriedPaths, digestOf } from '../../deploy/executable/carried-files.ts';
import { billOfMaterials } from '../../deploy/executable/sbom.ts';
import { ROOT, read } from './deployment-files.ts';

test('the executable carries what runs: sources, migrations, console, the database, the packages', async () => {
  const paths = new Set(await carriedPaths(ROOT));
  const needed = [
    'package.json',
    'src/start/everything.ts',
    'src/start/turnpike.ts',
    'src/adapters/database/pglite/own-thread.ts',
    'src/start/wiring/embedded-database-thread.ts',
    'src/adapters/document-reader/reading-process.ts',
    'migrations/0001_accounts.sql',
    'migrations/functions/charge_calls.sql',
    'console/main.tsx',
    'node_modules/@electric-sql/pglite/dist/pglite.wasm',
    'node_modules/swagger-ui-dist/swagger-ui-bundle.js',
  ];
  for (const path of needed) expect([path, paths.has(path)]).toEqual([path, true]);
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
  for (const name of Object.keys(dependencies)) {
    // The runtime is the executable itself.
    expect([name, paths.has(`node_modules/${name}/package.json`)]).toEqual([name, name !== 'bun']);
  }
});

test('it carries no test, nothing that is used only to develop, and nothing of the one who builds it', async () => {
  const paths = await carriedPaths(ROOT);
  const strange = paths.filter(
    (path) =>
      /\.test\.tsx?$/.test(path) ||
      /^(?:node_modules\/(?:typescript|@biomejs|@types|openai|bun)\/|test|bench|\.data|\.env|dist)/.test(
        path,
      ),
  );
  expect(strange).toEqual([]);
});

test('its bill of materials lists what it carries, the runtime, and nothing that is used only to develop', async () => {
  const bill = await billOfMaterials(ROOT, null);
  expect([bill.bomFormat, bill.specVersion, bill.metadata.component.type]).toEqual([
    'CycloneDX',
    '1.5',
    'application',
  ]);
  const names = new Set(bill.components.map(({ name }) => name));
  const manifest = JSON.parse(read('package.json')) as Record<string, Record<string, string>>;
  for (const name of Object.keys(manifest.dependencies ?? {}))
    expect([name, names.has(name)]).toEqual([name, true]);
  for (const name of ['typescript', 'playwright-core', '@biomejs/biome']) expect(names.has(name)).toBe(false);
  const withoutChecksum = bill.components.filter(({ hashes = [] }) => hashes.length === 0);
  expect(withoutChecksum.map(({ name }) => name)).toEqual([]);
  const refs = new Set(bill.components.map((one) => one['bom-ref']));
  const strange = bill.dependencies
    .flatMap(({ dependsOn = [] }) => dependsOn)
    .filter((ref) => !refs.has(ref));
  expect(strange).toEqual([]);
});

test('the same tree has the same name, another one another', () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const one = digestOf({ a: bytes('1'), b: bytes('2') });
  expect(digestOf({ a: bytes('1'), b: bytes('2') })).toBe(one);
  // Bytes at the border of two files belong to one of them.
  expect(digestOf({ a: bytes('12'), b: bytes('') })).not.toBe(one);
  expect(digestOf({ a: bytes('1'), c: bytes('2') })).not.toBe(one);
});
