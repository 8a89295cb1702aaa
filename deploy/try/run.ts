/**
 * `npm run try-deploy`: runs every command of docs/deploying.md in its order, as an operator would type it, in a folder that
 * takes the place of the root of a host. PostgreSQL, Redis, nginx, npm, git and the services are real; `systemctl` is a stand-in that
 * reads the copied unit files, and paths, ports and names are those of this run. Then it checks what the page says of the
 * proxy: TLS, streams, WebSockets, body sizes. Files that git does not know are not tried. Ends with 0 where all held.
 * `npm run try-deploy -- image` builds and starts the container image instead (deploy/try/image.ts).
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listenForInterruption } from '../../test/services/interruption.ts';
import { blocksOf } from '../../test/system/doc-examples.ts';
import { openHost, type TriedHost } from './host.ts';
import { tryImage } from './image.ts';
import { checkProxy } from './proxy.ts';

const ROOT = join(import.meta.dir, '../..');
const DOCUMENT = 'docs/deploying.md';
/** The versions of processes that reported within the last seconds, with what runs in them. */
const RUNNING_VERSIONS = `sleep 12; psql "$url" -Atc "select version || ' ' || array_to_string(services, ',')
  from service_processes where seen_at > now() - interval '9 seconds' order by 1"`;

const [what = 'host', ...rest] = process.argv.slice(2);
if (rest.length > 0 || !['host', 'image'].includes(what)) {
  console.error('usage: npm run try-deploy [-- image]');
  process.exit(2);
}
const interruption = listenForInterruption();
const exitCode = what === 'image' ? await tryImage(ROOT) : await tryHost();
process.exit(interruption.exitCode() ?? exitCode);

async function tryHost(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-host-'));
  let host: TriedHost | null = null;
  try {
    host = await openHost(ROOT, folder);
    const blocks = blocksOf(DOCUMENT, readFileSync(join(ROOT, DOCUMENT), 'utf8')).filter(
      ({ language }) => language === 'sh',
    );
    for (const { place, text } of blocks) {
      if (interruption.signal.aborted) return 1;
      const { exitCode: code, output } = await host.type(text);
      if (code !== 0) {
        console.error(`${place}: ended with ${code}\n${output}\n${host.logs()}`);
        return 1;
      }
      console.log(`${place}: ${text.trim().split('\n').length} lines, done`);
      if (/turnpike (?:audit|verify-deployment)/.test(text) && host.key() !== null) {
        const problems = await checkProxy(host);
        for (const problem of problems) console.error(problem);
        if (problems.length > 0) return 1;
        console.log('the proxy: TLS, streams, WebSockets, body sizes and hidden metrics held');
      }
    }
    const versions = await host.type(RUNNING_VERSIONS);
    const running = versions.output.trim().split('\n');
    console.log(`after the upgrade run: ${running.join('; ')}`);
    return running.length >= 3 && running.every((one) => one.startsWith('0.1.1 ')) ? 0 : 1;
  } finally {
    await host?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
