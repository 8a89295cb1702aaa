import { expect, test } from 'bun:test';
import { join } from 'node:path';

const ROOT = join(import.meta.dir, '../..');
const { dependencies, devDependencies, allowScripts } = await Bun.file(join(ROOT, 'package.json')).json();
const { packages } = await Bun.file(join(ROOT, 'package-lock.json')).json();

test('a dependency cannot be replaced: exact versions, a hash for every package, no install script except the allowed one', async () => {
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    expect([name, String(version)]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(-[\w.]+)?$/)]);
  }
  const locked = Object.entries<Record<string, unknown>>(packages).filter(([path]) => path !== '');
  expect(locked.length).toBeGreaterThan(100);
  const withoutHash = locked.filter(([, entry]) => !String(entry.integrity ?? '').startsWith('sha512-'));
  expect(withoutHash.map(([path]) => path)).toEqual([]);
  const withScript = locked.filter(([, entry]) => entry.hasInstallScript === true).map(([path]) => path);
  const allowed = Object.entries(allowScripts).flatMap(([name, isAllowed]) => (isAllowed ? [name] : []));
  expect(allowed).toEqual(['bun']);
  const named = withScript.map((path) =>
    path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
  );
  expect(named.filter((name) => !(name in allowScripts))).toEqual([]);
});
