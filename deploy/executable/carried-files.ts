import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What runs, besides the packages; as in the container image. */
const FOLDERS = ['src', 'migrations', 'console', 'models'];
const SINGLE = ['package.json', 'LICENSE'];
/** The runtime is the executable itself. */
const LEFT_OUT = /^node_modules\/(?:bun|bun-types|@types\/.+|@oven\/.+)$/;
const NOT_RUN = /\.(?:test\.tsx?|d\.[cm]?ts|[cm]?js\.map|md|markdown)$/i;

interface LockedPackage {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

/** Paths below the root, in one order. */
export async function carriedPaths(root: string): Promise<readonly string[]> {
  const paths = new Set(SINGLE);
  const folders = [...FOLDERS, ...packagesNeeded(root)];
  for (const folder of folders) {
    for await (const path of new Bun.Glob('**/*').scan({ cwd: join(root, folder), dot: true })) {
      // A package within a package is in the list by itself, or not wanted.
      if (!path.includes('node_modules/')) paths.add(`${folder}/${path}`);
    }
  }
  return [...paths].filter((path) => !NOT_RUN.test(path)).sort();
}

/** The same, with what they hold. */
export async function carriedFiles(root: string): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  for (const path of await carriedPaths(root)) files[path] = await Bun.file(join(root, path)).bytes();
  return files;
}

/** Of names and contents, so that the same tree has the same one whenever it is built. */
export function digestOf(files: Readonly<Record<string, Uint8Array>>): string {
  const hasher = new Bun.CryptoHasher('sha256');
  for (const [path, bytes] of Object.entries(files))
    hasher.update(`${path}\0${bytes.length}\0`).update(bytes);
  return hasher.digest('hex').slice(0, 32);
}

/** Those that `npm ci --omit=dev` would bring. */
function packagesNeeded(root: string): string[] {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  return Object.entries(packages)
    .filter(([path, { dev, devOptional }]) => path !== '' && dev !== true && devOptional !== true)
    .map(([path]) => path)
    .filter((path) => !LEFT_OUT.test(path) && existsSync(join(root, path)));
}
