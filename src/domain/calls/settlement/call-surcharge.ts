/** Uses by hosted tool, such as `web_search`. */
export type ToolUses = Readonly<Record<string, number>>;

/** A million credits; the database charges no more for the tools of a call. */
export const MOST_SURCHARGE_MICRO = 1_000_000_000_000;

/** Undefined if there is none. */
export function boundedSurcharge(micro: number | undefined): number | undefined {
  return micro === undefined || !(micro > 0) ? undefined : Math.min(Math.ceil(micro), MOST_SURCHARGE_MICRO);
}

const TOOL_NAME = /^[a-z][a-z0-9_]{0,39}$/;
const MOST_TOOLS = 16;
const MOST_USES = 1_000_000;

/** Undefined if no tool was used. Invalid names, and tools after the sixteenth, are omitted. */
export function boundedToolUses(uses: ToolUses): ToolUses | undefined {
  const used = Object.entries(uses).filter(([name, count]) => TOOL_NAME.test(name) && count > 0);
  if (used.length === 0) return undefined;
  const bounded = used
    .slice(0, MOST_TOOLS)
    .map(([name, count]) => [name, Math.min(Math.ceil(count), MOST_USES)]);
  return Object.fromEntries(bounded);
}
