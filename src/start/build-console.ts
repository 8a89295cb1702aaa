import { join } from 'node:path';
import type { ConsoleBuild } from '../backend/console-files.ts';
import type { Log } from '../ports/log.ts';

const SOURCE = join(import.meta.dir, '../../console');

/**
 * Bundles the console from its source: nobody has to build anything before a start. A build that fails takes
 * nothing else down: the log says what is wrong, and the backend runs without pages.
 */
export async function buildConsole(log: Log, source = SOURCE): Promise<ConsoleBuild> {
  try {
    const built = await Bun.build({
      entrypoints: [join(source, 'main.tsx')],
      root: source,
      target: 'browser',
      format: 'esm',
      splitting: true,
      minify: true,
      publicPath: '/assets/',
      naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
      define: { 'process.env.NODE_ENV': '"production"' },
    });
    const files = await Promise.all(
      built.outputs.map(async (output) => ({
        name: output.path.replace(/^.*\//, ''),
        bytes: new Uint8Array(await output.arrayBuffer()),
      })),
    );
    const named = (beginning: string, ending: string) =>
      files.find(({ name }) => name.startsWith(beginning) && name.endsWith(ending))?.name;
    const entry = built.outputs.find(({ kind }) => kind === 'entry-point')?.path.replace(/^.*\//, '');
    const style = named('main-', '.css');
    const icon = named('icon-', '.svg');
    if (entry === undefined || style === undefined || icon === undefined) {
      throw new Error('the console’s build made no script, no style or no icon');
    }
    return { outcome: 'built', files, script: entry, style, icon };
  } catch (error) {
    log.error('the console could not be built: the backend runs without its pages', { error });
    return { outcome: 'failed', reason: error instanceof Error ? error.message : String(error) };
  }
}
