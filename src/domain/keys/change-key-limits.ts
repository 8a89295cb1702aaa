import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import { type ApiKey, isId, KEY_COLUMNS, type KeySettings, keyStatus } from './api-key.ts';
import { checkWantedKey } from './wanted-key.ts';

export interface KeyLimitChanges {
  readonly companyId: string;
  readonly keyId: string;
  /** What is left out stays; null takes away a limit that is optional. */
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerMinute?: number | undefined;
  readonly maxCallsInFlight?: number | null | undefined;
  readonly monthlySpendingLimitMicro?: bigint | null | undefined;
}

export type ChangedKeyLimits =
  | { readonly outcome: 'changed'; readonly key: ApiKey }
  | { readonly outcome: 'invalid'; readonly field: keyof KeySettings; readonly message: string }
  | { readonly outcome: 'no-such-key' }
  | { readonly outcome: 'not-live' };

/** In force in every gateway within a second: none uses what it has heard of a key for longer. */
export async function changeKeyLimits(
  transaction: Transaction,
  clock: Clock,
  changes: KeyLimitChanges,
): Promise<ChangedKeyLimits> {
  const { companyId, keyId } = changes;
  if (!isId(companyId) || !isId(keyId)) return { outcome: 'no-such-key' };
  const rows = await transaction.query<ApiKey>(
    `select ${KEY_COLUMNS} from api_keys where company_id = $1 and id = $2 for update`,
    [companyId, keyId],
  );
  const [old] = rows;
  if (old === undefined) return { outcome: 'no-such-key' };
  if (keyStatus(old, clock.now()) !== 'LIVE') return { outcome: 'not-live' };
  const wanted = {
    ...old,
    requestsPerMinute: changes.requestsPerMinute ?? old.requestsPerMinute,
    tokensPerMinute: changes.tokensPerMinute ?? old.tokensPerMinute,
    maxCallsInFlight: kept(changes.maxCallsInFlight, old.maxCallsInFlight),
    monthlySpendingLimitMicro: kept(changes.monthlySpendingLimitMicro, old.monthlySpendingLimitMicro),
  };
  const checked = checkWantedKey(wanted, clock.now());
  if (checked.outcome === 'invalid') return checked;
  const { requestsPerMinute, tokensPerMinute, maxCallsInFlight, monthlySpendingLimitMicro } =
    checked.settings;
  const changed = await transaction.query<ApiKey>(
    `update api_keys set requests_per_minute = $2, tokens_per_minute = $3, max_calls_in_flight = $4,
       monthly_spending_limit_micro = $5 where id = $1 returning ${KEY_COLUMNS}`,
    [keyId, requestsPerMinute, tokensPerMinute, maxCallsInFlight, monthlySpendingLimitMicro],
  );
  return { outcome: 'changed', key: changed[0] ?? old };
}

function kept<Value>(change: Value | null | undefined, old: Value | null): Value | null {
  return change === undefined ? old : change;
}
