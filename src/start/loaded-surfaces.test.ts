import { expect, test } from 'bun:test';
import { join } from 'node:path';

/** The code that the process of an entry file can load, type imports left out. */
async function loadedBy(entry: string): Promise<string> {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, entry)],
    target: 'bun',
    packages: 'external',
    splitting: true,
  });
  return (await Promise.all(built.outputs.map((output) => output.text()))).join('\n');
}

test('a process with one service loads neither the other surfaces nor their libraries', async () => {
  const gateway = await loadedBy('gateway.ts');
  expect(gateway).not.toMatch(/^\/\/ src\/(backend|ai-service)\//m);
  const ai = await loadedBy('ai-service.ts');
  expect(ai).not.toMatch(/^\/\/ src\/(gateway|backend\/(?!payment-webhook))/m);
  expect(ai).not.toMatch(/from "(graphql|@pothos)/);
  expect(await loadedBy('backend.ts')).toMatch(/from "graphql/);
});
