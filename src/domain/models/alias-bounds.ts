import type { Statements, Transaction } from '../../ports/database.ts';
import { type AliasBounds, type AliasKind, type AliasName, DEFAULT_BOUNDS } from './aliases.ts';

/** As configured. Omitted fields stay unchanged; null is the default. */
export interface AliasBoundsParams {
  readonly contextLength?: number | null | undefined;
  readonly maxOutputTokens?: number | null | undefined;
  readonly enforceMaxOutput?: boolean | null | undefined;
}

export interface StoredBounds {
  readonly alias: AliasName;
  /** Null is the default for the alias's kind. */
  readonly contextLength: number | null;
  readonly maxOutputTokens: number | null;
  readonly enforceMaxOutput: boolean;
}

type CheckedBounds =
  | { readonly outcome: 'fine'; readonly bounds: AliasBoundsParams }
  | { readonly outcome: 'wrong'; readonly problem: string };

/** The database enforces the same limit. */
const MOST_ALIAS_TOKENS = 1_000_000_000;

export function checkBounds(bounds: AliasBoundsParams): CheckedBounds {
  const named = { context_length: bounds.contextLength, max_output_tokens: bounds.maxOutputTokens };
  for (const [name, value] of Object.entries(named)) {
    if (value == null) continue;
    if (!Number.isInteger(value) || value < 1 || value > MOST_ALIAS_TOKENS) {
      const problem = `${name} must be a whole number from 1 to ${MOST_ALIAS_TOKENS}`;
      return { outcome: 'wrong', problem };
    }
  }
  return { outcome: 'fine', bounds };
}

export async function readBounds(statements: Statements): Promise<readonly StoredBounds[]> {
  return await statements.query<StoredBounds>(
    `select alias, context_length::float8 as "contextLength", max_output_tokens::float8 as "maxOutputTokens",
       enforce_max_output as "enforceMaxOutput"
     from model_alias_bounds`,
  );
}

/** Writes nothing if nothing differs. Only under the catalogue's lock. */
export async function ensureBounds(
  transaction: Transaction,
  alias: AliasName,
  params: AliasBoundsParams,
): Promise<boolean> {
  const stored = (await readBounds(transaction)).find((bounds) => bounds.alias === alias);
  const { contextLength = stored?.contextLength ?? null } = params;
  const { maxOutputTokens = stored?.maxOutputTokens ?? null } = params;
  const enforceMaxOutput =
    (params.enforceMaxOutput === undefined ? stored?.enforceMaxOutput : params.enforceMaxOutput) ?? false;
  const isSame =
    contextLength === (stored?.contextLength ?? null) &&
    maxOutputTokens === (stored?.maxOutputTokens ?? null) &&
    enforceMaxOutput === (stored?.enforceMaxOutput ?? false);
  if (isSame) return false;
  await transaction.query(
    `insert into model_alias_bounds (alias, context_length, max_output_tokens, enforce_max_output)
     values ($1, $2, $3, $4)
     on conflict (alias) do update set context_length = excluded.context_length,
       max_output_tokens = excluded.max_output_tokens, enforce_max_output = excluded.enforce_max_output`,
    [alias, contextLength, maxOutputTokens, enforceMaxOutput],
  );
  return true;
}

/** Only under the catalogue's lock. */
export async function deleteBounds(transaction: Transaction, alias: AliasName): Promise<void> {
  await transaction.query('delete from model_alias_bounds where alias = $1', [alias]);
}

export function boundsOf(kind: AliasKind, stored: StoredBounds | undefined): AliasBounds {
  const defaults = DEFAULT_BOUNDS[kind];
  return {
    contextLength: stored?.contextLength ?? defaults.contextLength,
    plausiblePromptTokens: stored?.contextLength ?? defaults.plausiblePromptTokens,
    maxOutputTokens: stored?.maxOutputTokens ?? defaults.maxOutputTokens,
    enforceMaxOutput: stored?.enforceMaxOutput ?? defaults.enforceMaxOutput,
  };
}
