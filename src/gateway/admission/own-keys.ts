import type { Tried } from '../../domain/model-calls/try-targets.ts';
import type { Alias, OwnKeyUse } from '../../domain/models/aliases.ts';
import type { ModelDirectory } from '../../domain/models/model-directory.ts';
import type { OwnKeyDirectory } from '../../domain/own-keys/own-key-directory.ts';
import type { Refusal } from './refusals.ts';

export interface CompanyAliasParts {
  readonly models: Pick<ModelDirectory, 'find'>;
  /** If omitted, no company has its own provider keys. */
  readonly ownKeys?: Pick<OwnKeyDirectory, 'aliasFor'>;
}

/** The alias as the company calls it; null if there is none. */
export function aliasOfCompany(
  { models, ownKeys }: CompanyAliasParts,
  companyId: string,
  named: string,
): Alias | null {
  const alias = models.find(named);
  return alias === null || ownKeys === undefined ? alias : ownKeys.aliasFor(companyId, alias);
}

/**
 * For calls with a company's own provider key. They never continue with the operator's key: a company may have its own
 * key because of its contract with the provider. It is a 403, which clients do not retry: an admin has to act first,
 * and a 401 would mean that the gateway's key is wrong.
 */
export function ownKeyRefusal({ ownKey }: Pick<Alias, 'ownKey'>): Refusal | null {
  return ownKey === undefined || ownKey.problem === null ? null : REFUSALS[ownKey.problem];
}

const REFUSALS: Readonly<Record<NonNullable<OwnKeyUse['problem']>, Refusal>> = {
  'not-allowed': {
    name: 'providerKeyRefused',
    message:
      'Your company has its own provider key for this model, and the operator of the gateway does not allow own keys for it any more. Ask a company admin to delete the key; calls then use the operator’s at the full price.',
  },
  'no-key-for-provider': {
    name: 'providerKeyRefused',
    message:
      'Your company has its own provider key for this model, and none for a provider that serves it now. Ask a company admin to store one under Provider keys in the console, or to delete those that are stored.',
  },
  unreadable: {
    name: 'unavailable',
    message:
      'Your company’s own provider key cannot be decrypted. Ask a company admin to store it again, or the operator to check MASTER_KEY.',
  },
};

type Failed = Extract<Tried<unknown>, { outcome: 'failed' }>;

/** Null if the provider, not the key, is at fault. */
export function ownKeyFailure({ cause, reason, retryAfterMs }: Failed, usualWaitMs: number): Refusal | null {
  switch (cause) {
    case 'refused':
      return {
        name: 'providerKeyRefused',
        message: `The provider of this model refused your company’s own key with status ${reason}. ${ADVICE[reason] ?? 'Check the key and its permissions.'} A company admin replaces it under Provider keys in the console.`,
      };
    case 'rate-limit':
      return {
        name: 'providerRateLimited',
        message:
          'The provider limits the rate of your company’s own key. Retry after the time in retry-after, or raise the limits of your account there.',
        retryAfterMs: retryAfterMs ?? usualWaitMs,
      };
    default:
      return null;
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  401: 'The key is wrong, revoked or expired.',
  402: 'The account at the provider has no credit left.',
  403: 'The key is not allowed to use this model.',
  404: 'The key is not allowed to use this model, or the model does not exist.',
};
