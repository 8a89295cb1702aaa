import type { AliasTools } from '../aliases.ts';
import { HOSTED_TOOLS } from '../hosted-tools.ts';
import { TIER_FIELDS } from './tiers.ts';

/** What happens to fields that may cost the operator more than the prices of the alias cover: see `UNPRICED_FIELDS`. */
export type UnpricedFieldsMode = 'forward' | 'refuse';

/**
 * Something of a body that is forwarded although no price covers what its provider may charge for it. It is recorded with the
 * call if the answer reports that it had a cost.
 */
export interface UnpricedField {
  /** The name of the field, or that of the tool: for clients and records. */
  readonly name: string;
  readonly kind: 'tier' | 'audio' | 'search' | 'plugins' | 'tool';
}

/** Members of chat completions that make the provider search the web: those of OpenAI, xAI and Qwen. */
export const SEARCH_MEMBERS = ['web_search_options', 'search_parameters', 'enable_search'] as const;
/** That of OpenRouter. */
export const PLUGINS = 'plugins';
export const UNPRICED_AUDIO: UnpricedField = { name: 'audio', kind: 'audio' };
/** For a tool whose type does not look like one. */
const ANY_TOOL: UnpricedField = { name: 'tool', kind: 'tool' };

const NAME = /^[a-z][a-z0-9_.:-]{0,63}$/;
const MOST_NAMES = 16;

/** Types have a date at some providers: the tool is named without it, if it is known. */
export function unpricedTool(type: string): UnpricedField {
  const known = HOSTED_TOOLS.find(
    ({ responses, messages }) => responses?.types.test(type) === true || messages?.types.test(type) === true,
  );
  if (known !== undefined) return { name: known.name, kind: 'tool' };
  return NAME.test(type) ? { name: type, kind: 'tool' } : ANY_TOOL;
}

/** All that an answer may report without a price of the alias, where the request is no longer known. */
export function allUnpriced(tools: Pick<AliasTools, 'prices'> | null | undefined): readonly UnpricedField[] {
  const unpriced = HOSTED_TOOLS.filter(({ name }) => tools?.prices.has(name) !== true);
  return [
    ...unpriced.map(({ name }) => ({ name, kind: 'tool' as const })),
    ...TIER_FIELDS.map((name) => ({ name, kind: 'tier' as const })),
    ...[ANY_TOOL, UNPRICED_AUDIO],
  ];
}

/** Each once, at most sixteen. */
export function distinctFields(fields: readonly UnpricedField[]): readonly UnpricedField[] {
  if (fields.length <= 1) return fields;
  const distinct = [...new Map(fields.map((field) => [field.name, field])).values()];
  return distinct.length <= MOST_NAMES ? distinct : [...distinct.slice(0, MOST_NAMES - 1), ANY_TOOL];
}

/** As recorded, sorted; undefined if there is none. Journals of other versions may have other names. */
export function boundedUnpriced(names: readonly string[]): readonly string[] | undefined {
  const bounded = [...new Set(names.filter((name) => NAME.test(name)))].sort().slice(0, MOST_NAMES);
  return bounded.length === 0 ? undefined : bounded;
}

const MEASURED: ReadonlySet<string> = new Set([
  ...TIER_FIELDS,
  ...SEARCH_MEMBERS,
  ...[UNPRICED_AUDIO.name, PLUGINS],
  ...HOSTED_TOOLS.map(({ name }) => name),
]);

/** The label of a name in metrics. */
export function measuredName(name: string): string {
  return MEASURED.has(name) ? name : 'other';
}
