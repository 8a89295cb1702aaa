import type { Statements, Transaction } from '../../ports/database.ts';
import { findAlias } from './alias-catalogue.ts';
import type { AliasName, AliasTools } from './aliases.ts';
import { type CatalogueParts, changeCatalogue } from './targets.ts';
import { creditsToMicro } from './token-price.ts';

/** A tool that runs at the provider and costs money beyond the tokens. */
export interface HostedTool {
  /** The provider's name for it, without the version date. */
  readonly name: string;
  readonly title: string;
  /** Its names in the Responses API: in a request, and in the output of a response. */
  readonly responses?: { readonly types: RegExp; readonly item: string };
  /** Its names in the Messages API: in a request, in blocks of an answer, and in `usage.server_tool_use`. */
  readonly messages?: {
    readonly types: RegExp;
    readonly blocks: readonly string[];
    readonly usage?: string;
    /** Whether the tool itself has `max_uses`. */
    readonly isBounded: boolean;
  };
}

/** The tools that can be enabled. Any other tool that the client does not run itself is refused. */
export const HOSTED_TOOLS: readonly HostedTool[] = [
  {
    name: 'web_search',
    title: 'Web search',
    responses: { types: /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/, item: 'web_search_call' },
    messages: {
      ...{ types: /^web_search_\d{8}$/, blocks: ['web_search'] },
      ...{ usage: 'web_search_requests', isBounded: true },
    },
  },
  {
    name: 'web_fetch',
    title: 'Web fetch',
    messages: {
      ...{ types: /^web_fetch_\d{8}$/, blocks: ['web_fetch'] },
      ...{ usage: 'web_fetch_requests', isBounded: true },
    },
  },
  {
    name: 'file_search',
    title: 'File search',
    responses: { types: /^file_search$/, item: 'file_search_call' },
  },
  {
    name: 'code_interpreter',
    title: 'Code interpreter (Responses)',
    responses: { types: /^code_interpreter$/, item: 'code_interpreter_call' },
  },
  {
    name: 'code_execution',
    title: 'Code execution (Messages)',
    messages: {
      types: /^code_execution_\d{8}$/,
      blocks: ['code_execution', 'bash_code_execution', 'text_editor_code_execution'],
      isBounded: false,
    },
  },
  {
    name: 'image_generation',
    title: 'Image generation',
    responses: { types: /^image_generation$/, item: 'image_generation_call' },
  },
  {
    name: 'computer_use',
    title: 'Computer use',
    responses: { types: /^computer(?:_use_preview)?$/, item: 'computer_call' },
  },
  { name: 'shell', title: 'Hosted shell', responses: { types: /^shell$/, item: 'shell_call' } },
  {
    name: 'mcp',
    title: 'MCP servers and connectors',
    responses: { types: /^mcp$/, item: 'mcp_call' },
    messages: { types: /^mcp_toolset$/, blocks: ['mcp_tool_use'], isBounded: false },
  },
];

const HOSTED_TOOL_NAMES = HOSTED_TOOLS.map(({ name }) => name).join(', ');

export const ANY_PROVIDER_ID = '*';
export const DEFAULT_TOOL_USES = 10;
/** The database enforces the same limit. */
export const MOST_TOOL_USES = 1_000;
export const MOST_PROVIDER_IDS = 100;
const PROVIDER_ID = /^[\w.:-]{1,200}$/;

export function mayName({ providerIds }: AliasTools, id: string): boolean {
  return providerIds.has(ANY_PROVIDER_ID) || providerIds.has(id);
}

/** The requested tools; omitted fields stay unchanged. Prices are in credits per use. */
export interface AliasToolsParams {
  /** All tools to enable; any other is disabled. */
  readonly tools?: Readonly<Record<string, string | number>> | undefined;
  readonly maxUses?: number | undefined;
  readonly providerIds?: readonly string[] | undefined;
}

interface CheckedTools {
  readonly prices: ReadonlyMap<string, bigint> | null;
  readonly maxUses: number | null;
  readonly providerIds: readonly string[] | null;
}

type ToolsCheck =
  | { readonly outcome: 'fine'; readonly tools: CheckedTools }
  | { readonly outcome: 'wrong'; readonly problem: string };

export function checkTools({ tools, maxUses, providerIds }: AliasToolsParams): ToolsCheck {
  const wrong = (problem: string): ToolsCheck => ({ outcome: 'wrong', problem });
  const prices = new Map<string, bigint>();
  for (const [name, credits] of Object.entries(tools ?? {})) {
    if (!HOSTED_TOOLS.some((tool) => tool.name === name)) {
      return wrong(
        `there is no hosted tool ${JSON.stringify(name.slice(0, 50))}: use one of ${HOSTED_TOOL_NAMES}`,
      );
    }
    const micro = creditsToMicro(credits);
    if (micro === null) {
      return wrong(
        `the price of ${name} must be credits for one use, from 0 to 1000000, with at most 6 decimals`,
      );
    }
    prices.set(name, micro);
  }
  if (maxUses !== undefined && !(Number.isInteger(maxUses) && maxUses >= 1 && maxUses <= MOST_TOOL_USES)) {
    return wrong(`the most uses of hosted tools must be a whole number from 1 to ${MOST_TOOL_USES}`);
  }
  const ids = [...new Set(providerIds ?? [])];
  if (ids.length > MOST_PROVIDER_IDS) return wrong(`an alias has at most ${MOST_PROVIDER_IDS} provider ids`);
  if (ids.some((id) => id !== ANY_PROVIDER_ID && !PROVIDER_ID.test(id))) {
    return wrong('a provider id has 1 to 200 letters, digits and _ . : -, or is * for all of them');
  }
  return {
    outcome: 'fine',
    tools: {
      prices: tools === undefined ? null : prices,
      maxUses: maxUses ?? null,
      providerIds: providerIds === undefined ? null : ids,
    },
  };
}

export interface StoredTools {
  readonly alias: AliasName;
  readonly maxUses: number | null;
  readonly providerIds: readonly string[];
  /** Micro-credits per use, by name, sorted by name. */
  readonly prices: Readonly<Record<string, number>>;
}

/** Only for aliases that have any. */
export async function readTools(statements: Statements): Promise<readonly StoredTools[]> {
  const rows = await statements.query<Omit<StoredTools, 'prices'> & { readonly prices: string }>(
    `select alias, max_uses as "maxUses", provider_ids as "providerIds",
       coalesce((select json_object_agg(tool, price_micro order by tool) from model_hosted_tools as priced
         where priced.alias = own.alias), '{}')::text as prices
     from model_alias_tools as own`,
  );
  return rows.map(({ prices, ...own }) => ({ ...own, prices: JSON.parse(prices) as StoredTools['prices'] }));
}

export function aliasToolsOf(stored: StoredTools | undefined): AliasTools | null {
  if (stored === undefined) return null;
  const known = Object.entries(stored.prices).filter(([name]) =>
    HOSTED_TOOLS.some((one) => one.name === name),
  );
  if (known.length === 0 && stored.providerIds.length === 0) return null;
  return {
    prices: new Map(known),
    maxUses: stored.maxUses ?? DEFAULT_TOOL_USES,
    providerIds: new Set(stored.providerIds),
  };
}

/** Writes nothing if nothing differs. Only under the catalogue's lock. */
export async function ensureTools(
  transaction: Transaction,
  alias: AliasName,
  { prices, maxUses, providerIds }: CheckedTools,
): Promise<boolean> {
  if (prices === null && maxUses === null && providerIds === null) return false;
  const stored = (await readTools(transaction)).find((tools) => tools.alias === alias);
  const ids = providerIds ?? stored?.providerIds ?? [];
  const most = maxUses ?? stored?.maxUses ?? null;
  const isSame =
    most === (stored?.maxUses ?? null) &&
    ids.join() === (stored?.providerIds ?? []).join() &&
    (prices === null || isSamePrices(prices, stored?.prices ?? {}));
  if (isSame) return false;
  await transaction.query(
    `insert into model_alias_tools (alias, max_uses, provider_ids) values ($1, $2, $3)
     on conflict (alias) do update set max_uses = excluded.max_uses, provider_ids = excluded.provider_ids`,
    [alias, most, ids],
  );
  if (prices === null) return true;
  await transaction.query('delete from model_hosted_tools where alias = $1', [alias]);
  for (const [tool, micro] of prices) {
    await transaction.query('insert into model_hosted_tools (alias, tool, price_micro) values ($1, $2, $3)', [
      alias,
      tool,
      micro,
    ]);
  }
  return true;
}

/** Only under the catalogue's lock. */
export async function deleteTools(transaction: Transaction, alias: AliasName): Promise<void> {
  await transaction.query('delete from model_hosted_tools where alias = $1', [alias]);
  await transaction.query('delete from model_alias_tools where alias = $1', [alias]);
}

function isSamePrices(one: ReadonlyMap<string, bigint>, other: StoredTools['prices']): boolean {
  if (one.size !== Object.keys(other).length) return false;
  return [...one].every(([name, micro]) => Number(micro) === other[name]);
}

type ToolsSet =
  | { readonly outcome: 'changed' }
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'unknown-alias' | 'wrong-tools'; readonly problem: string };

/** Sets an alias's hosted tools, their prices, and the provider ids that its clients may name. */
export async function setAliasTools(
  parts: Pick<CatalogueParts, 'database' | 'sharedState' | 'prefix'>,
  alias: string,
  params: AliasToolsParams,
): Promise<ToolsSet> {
  const checked = checkTools(params);
  if (checked.outcome === 'wrong') return { outcome: 'wrong-tools', problem: checked.problem };
  return await changeCatalogue(parts, async (transaction): Promise<ToolsSet> => {
    const found = await findAlias(transaction, parts.prefix, alias);
    if (found.outcome === 'unknown-alias') return found;
    const isChanged = await ensureTools(transaction, found.alias.name, checked.tools);
    return { outcome: isChanged ? 'changed' : 'unchanged' };
  });
}
