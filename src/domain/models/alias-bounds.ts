import type { Statements, Transaction } from '../../ports/database.ts';
import { type AliasBounds, type AliasKind, type AliasName, DEFAULT_BOUNDS } from './aliases.ts';

/** As configured. Omitted fields stay unchanged; null is the default. */
export interface AliasBoundsParams {
  readonly contextLength?: number | null | undefined;
  readonly maxOutputTokens?: number | null | undefined;
  readonly enforceMaxOutput?: boolean | null | undefined;
  readonly cacheBreakpoints?: boolean | null | undefined;
  readonly drop?: readonly string[] | null | undefined;
}

export interface StoredBounds {
  readonly alias: AliasName;
  /** Null is the default for the alias's kind. */
  readonly contextLength: number | null;
  readonly maxOutputTokens: number | null;
  readonly enforceMaxOutput: boolean;
  readonly cacheBreakpoints: boolean;
  readonly drop: readonly string[];
}

type CheckedBounds =
  | { readonly outcome: 'fine'; readonly bounds: AliasBoundsParams }
  | { readonly outcome: 'wrong'; readonly problem: string };

/** The database enforces the same limit. */
const MOST_ALIAS_TOKENS = 1_000_000_000;
/** The database enforces the same limit. */
const MOST_DROPPED = 32;
const FIELD_NAME = /^[\w-]{1,64}$/;
/**
 * Fields that are never dropped: what is asked of which model, how it is answered, what bounds the charge, and whom the call
 * and the content that it continues belong to.
 */
const NEVER_DROPPED: ReadonlySet<string> = new Set([
  ...['model', 'models', 'messages', 'input', 'prompt', 'stream', 'stream_options'],
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'max_tool_calls'],
  ...['user', 'safety_identifier', 'metadata', 'previous_response_id', 'conversation'],
]);

export function checkBounds(bounds: AliasBoundsParams): CheckedBounds {
  const named = { context_length: bounds.contextLength, max_output_tokens: bounds.maxOutputTokens };
  for (const [name, value] of Object.entries(named)) {
    if (value == null) continue;
    if (!Number.isInteger(value) || value < 1 || value > MOST_ALIAS_TOKENS) {
      const problem = `${name} must be a whole number from 1 to ${MOST_ALIAS_TOKENS}`;
      return { outcome: 'wrong', problem };
    }
  }
  const problem = problemWithDrop(bounds.drop ?? []);
  return problem === null ? { outcome: 'fine', bounds } : { outcome: 'wrong', problem };
}

function problemWithDrop(names: readonly string[]): string | null {
  if (names.length > MOST_DROPPED) return `drop has at most ${MOST_DROPPED} names of fields`;
  const wrong = names.find((name) => !FIELD_NAME.test(name));
  if (wrong !== undefined) {
    const shown = JSON.stringify(wrong.slice(0, 64));
    return `drop has names of top-level fields of 1 to 64 letters, digits, _ and -; ${shown} is not one`;
  }
  const needed = names.find((name) => NEVER_DROPPED.has(name));
  return needed === undefined
    ? null
    : `drop cannot have ${needed}: the field says what is asked, how it is answered and bounded, or whom it belongs to`;
}

export async function readBounds(statements: Statements): Promise<readonly StoredBounds[]> {
  return await statements.query<StoredBounds>(
    `select alias, context_length::float8 as "contextLength", max_output_tokens::float8 as "maxOutputTokens",
       enforce_max_output as "enforceMaxOutput", cache_breakpoints as "cacheBreakpoints", drop_fields as "drop"
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
  const before = stored ?? { alias, ...NOTHING_STORED };
  const { contextLength = before.contextLength, maxOutputTokens = before.maxOutputTokens } = params;
  const { enforceMaxOutput = before.enforceMaxOutput, cacheBreakpoints = before.cacheBreakpoints } = params;
  const wanted = {
    ...{ alias, contextLength, maxOutputTokens },
    enforceMaxOutput: enforceMaxOutput ?? NOTHING_STORED.enforceMaxOutput,
    cacheBreakpoints: cacheBreakpoints ?? NOTHING_STORED.cacheBreakpoints,
    drop: params.drop === undefined ? before.drop : [...new Set(params.drop ?? [])],
  };
  if (isSame(before, wanted)) return false;
  await transaction.query(
    `insert into model_alias_bounds (alias, context_length, max_output_tokens, enforce_max_output, cache_breakpoints,
       drop_fields)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (alias) do update set context_length = excluded.context_length,
       max_output_tokens = excluded.max_output_tokens, enforce_max_output = excluded.enforce_max_output,
       cache_breakpoints = excluded.cache_breakpoints, drop_fields = excluded.drop_fields`,
    [
      ...[alias, wanted.contextLength, wanted.maxOutputTokens, wanted.enforceMaxOutput],
      ...[wanted.cacheBreakpoints, wanted.drop],
    ],
  );
  return true;
}

const NOTHING_STORED = {
  ...{ contextLength: null, maxOutputTokens: null, enforceMaxOutput: false },
  ...{ cacheBreakpoints: true, drop: [] as readonly string[] },
};

function isSame(one: StoredBounds, other: StoredBounds): boolean {
  return (
    one.contextLength === other.contextLength &&
    one.maxOutputTokens === other.maxOutputTokens &&
    one.enforceMaxOutput === other.enforceMaxOutput &&
    one.cacheBreakpoints === other.cacheBreakpoints &&
    one.drop.join() === other.drop.join()
  );
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
    cacheBreakpoints: stored?.cacheBreakpoints ?? defaults.cacheBreakpoints,
    drop: stored?.drop ?? defaults.drop,
  };
}
