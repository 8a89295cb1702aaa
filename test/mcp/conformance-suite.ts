import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Revision = '2025-11-25' | '2026-07-28';
export const REVISIONS: readonly Revision[] = ['2025-11-25', '2026-07-28'];

const SUITE = join(import.meta.dir, '../../node_modules/@modelcontextprotocol/conformance/dist/index.js');

/** The official suite's server scenarios of one revision, against an address, with what is expected to fail. */
export async function runConformance(url: string, revision: Revision, baseline: string | null) {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-conformance-'));
  const expected = baseline === null ? [] : ['--expected-failures', baseline];
  const words = ['server', '--url', url, '--requirements', revision, '-o', folder, ...expected];
  try {
    const suite = Bun.spawn([process.execPath, SUITE, ...words], {
      cwd: folder,
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const [out, problems, exitCode] = await Promise.all([
      new Response(suite.stdout).text(),
      new Response(suite.stderr).text(),
      suite.exited,
    ]);
    return { exitCode, report: `${out}\n${problems}` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
