import type { Payer } from '../domain/credits/holds.ts';

/** What is to be done about a 402, which is another thing for each of its reasons. */
export function creditMessage(payer: Payer, isBalance: boolean, levelMicro: number): string {
  if (isBalance) return levelMicro > 0 ? ALL_HELD : NONE_LEFT;
  const limit = `This key's monthly spending limit of ${credits(payer.monthlyLimitMicro ?? 0n)} credits`;
  if (levelMicro > 0) {
    return `${limit} is held by its calls that are still running. Wait until some end, or lower max_tokens.`;
  }
  const free = nextMonth(payer.startedAtMs);
  return `${limit} is used up. Use a key with a higher limit, or wait until ${free} (UTC).`;
}

const NONE_LEFT =
  'Your company has no credits left. Buy credits, or have its credit line raised; calls pass again at once.';
const ALL_HELD =
  'All credits of your company are held by its calls that are still running. Wait until some end, lower max_tokens, or buy credits.';

const MICRO = 1_000_000n;

/** As people write it: 12, 0.5. */
function credits(micro: bigint): string {
  const rest = (micro % MICRO).toString().padStart(6, '0').replace(/0+$/, '');
  return rest === '' ? String(micro / MICRO) : `${micro / MICRO}.${rest}`;
}

function nextMonth(atMs: number): string {
  const at = new Date(atMs);
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)).toISOString().slice(0, 10);
}
