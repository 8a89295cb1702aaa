import type { Statements, Transaction } from '../../ports/database.ts';
import type { AliasName } from './aliases.ts';

export interface StoredTarget {
  readonly id: string;
  readonly alias: AliasName;
  readonly baseUrl: string;
  readonly model: string;
  readonly sealedKey: Uint8Array | null;
  readonly weight: number;
}

export interface StoredCatalogue {
  readonly version: bigint;
  /** In the order in which an alias tries them. */
  readonly targets: readonly StoredTarget[];
}

type CatalogueRow = { readonly version: bigint } & (StoredTarget | { readonly id: null });

/** One statement, so that the targets are those of the version. */
export async function readCatalogue(statements: Statements): Promise<StoredCatalogue> {
  const rows = await statements.query<CatalogueRow>(
    `select version, id, alias, base_url as "baseUrl", model, sealed_key as "sealedKey", weight
     from model_catalogue left join model_targets on true order by alias, position`,
  );
  const [first] = rows;
  if (first === undefined) throw new Error('model_catalogue has lost its row: insert version 1 again');
  return { version: first.version, targets: rows.filter((row) => row.id !== null) };
}

/** What processes ask for twice a second: one row by its only key. */
export async function readVersion(statements: Statements): Promise<bigint | null> {
  const rows = await statements.query<{ version: bigint }>('select version from model_catalogue');
  return rows[0]?.version ?? null;
}

/** Whoever changes targets does it one after the other: compared and written as one step. */
export async function lockCatalogue(transaction: Transaction): Promise<void> {
  await transaction.query('select version from model_catalogue for update');
}

/** The version grows by itself, with each statement. */
export async function replaceTargets(
  transaction: Transaction,
  alias: AliasName,
  targets: readonly StoredTarget[],
): Promise<void> {
  await transaction.query('delete from model_targets where alias = $1', [alias]);
  for (const [position, { id, baseUrl, model, sealedKey, weight }] of targets.entries()) {
    await transaction.query(
      `insert into model_targets (id, alias, position, base_url, model, sealed_key, weight)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [id, alias, position, baseUrl, model, sealedKey, weight],
    );
  }
}
