/**
 * `npm run sbom [-- EXECUTABLE]`: writes what the executable is made of beside it, as CycloneDX 1.5 in JSON:
 * `dist/turnpike.cdx.json`. The packages are those that it carries, and the runtime that it is; versions, licences and
 * checksums are those of package-lock.json. `npm sbom` cannot say it: with `--omit dev` it leaves out what a development tool
 * needs too (hono, zod), and without it refuses peers of development tools.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { carriedPaths } from './carried-files.ts';

const ROOT = join(import.meta.dir, '../..');
const RUNTIME = 'node_modules/bun';

interface LockedPackage {
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

type Lock = Readonly<Record<string, LockedPackage>>;

export interface Component {
  readonly type: 'application' | 'library';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes: readonly { readonly alg: 'SHA-256' | 'SHA-512'; readonly content: string }[];
  readonly licenses?: readonly object[];
  readonly externalReferences?: readonly object[];
}

export async function billOfMaterials(root: string, executable: Uint8Array | null) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Lock;
  };
  const own = packages[''];
  if (own === undefined) throw new Error('package-lock.json does not name this package: run npm install');
  const carried = [...(await carriedFolders(root)), RUNTIME];
  const missing = carried.filter((folder) => packages[folder]?.integrity === undefined);
  if (missing.length > 0)
    throw new Error(`package-lock.json does not know ${missing.join(', ')}: run npm ci`);
  const known = new Set(carried);
  const folders = carried.map((folder) => [folder, packages[folder] as LockedPackage] as const);
  const itself: Component = {
    ...{ type: 'application', 'bom-ref': 'turnpike', name: 'turnpike', version: own.version },
    purl: purlOf('turnpike', own.version),
    hashes: executable === null ? [] : [{ alg: 'SHA-256', content: sha256(executable) }],
    licenses: licensesOf(own.license),
  };
  return {
    ...{
      bomFormat: 'CycloneDX',
      specVersion: '1.5',
      version: 1,
      serialNumber: `urn:uuid:${crypto.randomUUID()}`,
    },
    metadata: { timestamp: new Date().toISOString(), component: itself },
    components: folders.map(([folder, locked]) => componentOf(folder, locked)),
    dependencies: [
      { ref: 'turnpike', dependsOn: neededBy('', own, known) },
      ...folders.map(([folder, locked]) => ({ ref: folder, dependsOn: neededBy(folder, locked, known) })),
    ],
  };
}

/** The folders of all packages that are in the executable. */
async function carriedFolders(root: string): Promise<string[]> {
  const manifest = /^((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\/package\.json$/;
  return (await carriedPaths(root)).flatMap((path) => manifest.exec(path)?.[1] ?? []);
}

function componentOf(folder: string, locked: LockedPackage): Component {
  const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const { version, license, integrity = '', resolved } = locked;
  return {
    // Its folder: the same package may be there twice.
    ...{ type: 'library', 'bom-ref': folder, name, version, purl: purlOf(name, version) },
    hashes: [{ alg: 'SHA-512', content: Uint8Array.fromBase64(integrity.replace('sha512-', '')).toHex() }],
    licenses: licensesOf(license),
    ...(resolved === undefined ? {} : { externalReferences: [{ type: 'distribution', url: resolved }] }),
  };
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** What the packages name that we carry; a name that SPDX does not list, such as BSD, is only a name. */
const SPDX =
  /^(?:0BSD|Apache-2\.0|BlueOak-1\.0\.0|BSD-[23]-Clause|CC0-1\.0|ISC|MIT|MIT-0|MPL-2\.0|Python-2\.0|Unlicense)$/;

function licensesOf(license: string | undefined): readonly object[] {
  if (license === undefined) return [];
  if (SPDX.test(license)) return [{ license: { id: license } }];
  const isExpression = / (?:OR|AND) /.test(license);
  return [
    isExpression ? { expression: license.replace(/^\((.*)\)$/, '$1') } : { license: { name: license } },
  ];
}

/** As modules are found: in the package's own folder, then in each one above it. */
function neededBy(folder: string, locked: LockedPackage, known: ReadonlySet<string>): string[] {
  const { dependencies, optionalDependencies, peerDependencies } = locked;
  return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }).flatMap((name) => {
    for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
      const found = `${at === '' ? '' : `${at}/`}node_modules/${name}`;
      if (known.has(found)) return found;
      if (at === '') return [];
    }
  });
}

function sha256(bytes: Uint8Array): string {
  return new Bun.CryptoHasher('sha256').update(bytes).digest('hex');
}

if (import.meta.main) {
  const executable = resolve(process.argv[2] ?? join(ROOT, 'dist/turnpike'));
  if (!existsSync(executable)) {
    console.error(`there is no ${executable}: npm run build:executable makes it`);
    process.exit(1);
  }
  const bill = await billOfMaterials(ROOT, readFileSync(executable));
  writeFileSync(`${executable}.cdx.json`, `${JSON.stringify(bill, null, 2)}\n`);
  console.log(`${executable}.cdx.json: ${bill.components.length} components`);
}
