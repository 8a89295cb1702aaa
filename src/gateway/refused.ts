import type { Payer } from '../domain/credits/holds.ts';
import { BALANCE_LEVEL } from '../domain/credits/publish-level.ts';
import type { ApiKey } from '../domain/keys/api-key.ts';
import type { Limits } from '../domain/limits/limits.ts';
import type { Refused } from './admit.ts';
import { creditMessage } from './credit-message.ts';
import type { Refusal } from './refusals.ts';

export const NOT_PAYABLE_NOW: Refusal = {
  name: 'unavailable',
  message: 'Credits cannot be checked or charged at the moment. Try again with backoff.',
};

export function refuse(refusal: Refusal, known: Partial<Refused> = {}): Refused {
  return { outcome: 'refused', refusal, route: null, key: null, alias: null, allowances: null, ...known };
}

export function refuseByLimit(
  limited: Exclude<Awaited<ReturnType<Limits['reserve']>>, { outcome: 'admitted' }>,
  payer: Payer,
  known: Partial<Refused>,
): Refused {
  switch (limited.outcome) {
    case 'unknown-level':
      return refuse(NOT_PAYABLE_NOW, known);
    case 'not-payable': {
      const { hold, level, allowances } = limited;
      const message = creditMessage(payer, hold.name === BALANCE_LEVEL, level);
      return refuse({ name: 'insufficientCredits', message }, { ...known, allowances });
    }
    case 'refused': {
      const { by, retryAfterMs, allowances } = limited;
      const message = `This key is over its limit of ${by}${by === 'calls in flight' ? '' : ' a minute'}. Back off and try again.`;
      return refuse({ name: 'rateLimited', message, retryAfterMs }, { ...known, allowances });
    }
  }
}

export function payerOf(key: ApiKey, startedAtMs: number): Payer {
  const { id: keyId, companyId, monthlySpendingLimitMicro: monthlyLimitMicro } = key;
  return { companyId, keyId, monthlyLimitMicro, startedAtMs };
}
