import type { Statements } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { readBounds } from './alias-bounds.ts';
import { readAliases } from './alias-catalogue.ts';
import { type AliasName, storedNameOf } from './aliases.ts';
import { readTools } from './hosted-tools.ts';
import { readPrices } from './prices.ts';
import { type CatalogueParts, changeCatalogue, readCatalogue } from './targets.ts';

/**
 * A hash of everything stored about each alias, to detect concurrent edits: a change that names the version it is based
 * on is refused if the alias has changed since. Every change produces another version, even one that stores the same
 * key again.
 */
export async function readAliasVersions(
  statements: Statements,
  { sha256 }: Pick<Secrets, 'sha256'>,
): Promise<ReadonlyMap<AliasName, string>> {
  const { targets } = await readCatalogue(statements);
  const bounds = await readBounds(statements);
  const tools = await readTools(statements);
  const prices = await readPrices(statements);
  const versions = new Map<AliasName, string>();
  for (const { name, ...alias } of await readAliases(statements)) {
    const of = <Row extends { readonly alias: AliasName }>(rows: readonly Row[]) =>
      rows.filter((row) => row.alias === name);
    const state = [alias, of(targets), of(bounds), of(tools), of(prices).map(({ id }) => id)];
    versions.set(
      name,
      Buffer.from(sha256(JSON.stringify(state, plainValue)))
        .toString('base64url')
        .slice(0, 22),
    );
  }
  return versions;
}

/**
 * Whether a change that is based on this version may be made: other changes of aliases wait from now until the end of the
 * caller's transaction. Any change may be made if it names no version, or if the alias is unknown.
 */
export async function lockVersion(
  parts: Pick<CatalogueParts, 'database' | 'sharedState' | 'secrets'>,
  alias: string,
  ifVersion: string | null | undefined,
): Promise<boolean> {
  if (ifVersion == null) return true;
  const { outcome } = await changeCatalogue(parts, async (transaction) => {
    const version = (await readAliasVersions(transaction, parts.secrets)).get(storedNameOf(alias));
    return { outcome: version === undefined || version === ifVersion ? 'same' : 'changed-since' };
  });
  return outcome === 'same';
}

function plainValue(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;
}
