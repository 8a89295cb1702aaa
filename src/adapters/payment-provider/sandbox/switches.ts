import type { Statements } from '../../../ports/database.ts';
import { readSetting, writeSetting } from './settings.ts';

/**
 * What goes wrong on purpose, for the next so many events. `duplicate` sends an event twice, `second_id` sends the
 * same fact as a second event, `reorder` and `concurrent` hold so many back and send them newest first or all at the
 * same moment, `delay` sends `delay_ms` late, `drop` never sends, the last two spoil the first attempt.
 */
export interface Switches {
  readonly duplicate: number;
  readonly second_id: number;
  readonly reorder: number;
  readonly concurrent: number;
  readonly delay: number;
  readonly delay_ms: number;
  readonly drop: number;
  readonly bad_signature: number;
  readonly stale_timestamp: number;
  /** Invoices whose finalization fails, instead of events. */
  readonly finalization_failure: number;
}

export type SwitchName = keyof Switches;

const allOff: Switches = {
  duplicate: 0,
  second_id: 0,
  reorder: 0,
  concurrent: 0,
  delay: 0,
  delay_ms: 0,
  drop: 0,
  bad_signature: 0,
  stale_timestamp: 0,
  finalization_failure: 0,
};

export const switchNames = Object.keys(allOff) as SwitchName[];

/** What happens to one event. */
export interface SendingPlan {
  readonly copies: 1 | 2;
  readonly hasSecondId: boolean;
  readonly isDropped: boolean;
  readonly flaw: 'bad_signature' | 'stale_timestamp' | null;
  readonly delayMs: number;
  readonly atOnce: boolean;
  /** Lower goes first. */
  readonly sendOrder: number;
  /** Held until the last of its group is there, or for this long. */
  readonly isHeld: boolean;
  readonly releases: 'reordered' | 'at-once' | null;
}

export const HELD_MS = 30_000;
/** Far below every other. */
const REORDERED_FROM = -1_000_000;

/** The plan for the next event, and the switches as they are after it. */
export function planSending(switches: Switches): { plan: SendingPlan; left: Switches } {
  const isOn = (name: SwitchName) => switches[name] > 0;
  const left = { ...switches };
  const counted = switchNames.filter((name) => name !== 'delay_ms' && name !== 'finalization_failure');
  for (const name of counted) left[name] = Math.max(0, switches[name] - 1);
  const isLastReordered = isOn('reorder') && left.reorder === 0;
  const isLastAtOnce = isOn('concurrent') && left.concurrent === 0;
  const plan: SendingPlan = {
    copies: isOn('duplicate') ? 2 : 1,
    hasSecondId: isOn('second_id'),
    isDropped: isOn('drop'),
    flaw: isOn('bad_signature') ? 'bad_signature' : isOn('stale_timestamp') ? 'stale_timestamp' : null,
    delayMs: isOn('delay') ? switches.delay_ms : 0,
    atOnce: isOn('concurrent'),
    sendOrder: isOn('reorder') ? REORDERED_FROM + left.reorder : 0,
    isHeld: (isOn('reorder') && !isLastReordered) || (isOn('concurrent') && !isLastAtOnce),
    releases: isLastReordered ? 'reordered' : isLastAtOnce ? 'at-once' : null,
  };
  return { plan, left };
}

export async function readSwitches(statements: Statements): Promise<Switches> {
  return { ...allOff, ...(await readSetting<Partial<Switches>>(statements, 'switches')) };
}

export async function writeSwitches(statements: Statements, switches: Switches): Promise<void> {
  await writeSetting(statements, 'switches', { ...switches });
}
