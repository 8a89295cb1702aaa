/** `npm run build:executable [-- FILE]`: one file that runs everything, tried before it is handed over. */
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { carriedFiles, digestOf } from './carried-files.ts';
import { tryExecutable } from './try-executable.ts';

const ROOT = join(import.meta.dir, '../..');
const outfile = resolve(process.argv[2] ?? join(ROOT, 'dist/turnpike'));
const work = mkdtempSync(join(tmpdir(), 'turnpike-executable-'));

try {
  const archive = join(work, 'tree.tar.gz');
  const files = await carriedFiles(ROOT);
  await Bun.Archive.write(archive, files, { compress: 'gzip', level: 9 });
  mkdirSync(dirname(outfile), { recursive: true });
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, 'launcher.ts'), archive],
    define: { TREE_DIGEST: JSON.stringify(digestOf(files)) },
    minify: true,
    compile: {
      outfile,
      // What the launcher imports is read from the tree, by the rules of a checkout. A bunfig.toml where a user
      // happens to stand could name programs to be run before ours.
      autoloadBunfig: false,
      autoloadDotenv: true,
      autoloadPackageJson: true,
      autoloadTsconfig: true,
    },
  });
  if (!built.success) throw new AggregateError(built.logs, 'the executable could not be built');
  const megabytes = Math.round(statSync(outfile).size / 1_000_000);
  process.stdout.write(`${outfile}: ${megabytes} MB, ${Object.keys(files).length} files within\n`);
  await tryExecutable(outfile, (line) => void process.stdout.write(`${line}\n`));
} finally {
  rmSync(work, { recursive: true, force: true });
}
