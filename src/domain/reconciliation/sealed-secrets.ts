import type { Statements } from '../../ports/database.ts';

/** Secrets of one kind that are stored under a master key which this process does not have. */
export interface UnreadableSecrets {
  readonly kind: string;
  /** Of the master key: eight hexadecimal digits, which reveal nothing of it. */
  readonly keyId: string;
}

export interface SealedSecrets {
  /** Whether any stored secret opens, or none is stored. */
  readonly someOpen: boolean;
  readonly unreadable: readonly UnreadableSecrets[];
}

/**
 * Which stored secrets the given master keys do not open, by the id that each was stored with (cipher.ts). Texts of
 * customers, such as stored prompts, are not among them: they expire by themselves.
 */
export async function findSealedSecrets(
  statements: Statements,
  keyIds: readonly string[],
): Promise<SealedSecrets> {
  const found = await statements.query<UnreadableSecrets>(SEALED, [], { isIndependent: true });
  const unreadable = found.filter(({ keyId }) => !keyIds.includes(keyId));
  return { someOpen: found.length === 0 || unreadable.length < found.length, unreadable };
}

/** Enough to meet every master key of the last changes; each process reads them once a minute. */
const MOST_ROWS = 1_000;

const SEALED = [
  ['provider keys', 'sealed_key', 'model_targets', 'id'],
  ['headers of providers', 'sealed_headers', 'model_targets', 'id'],
  ['provider keys of companies', 'sealed_key', 'own_provider_keys', 'id'],
  ['two-factor secrets', 'sealed', 'totp_secrets', 'user_id'],
  ['alert channels', 'sealed_url', 'alert_channels', 'id'],
]
  .map(
    ([
      kind,
      column,
      table,
      key,
    ]) => `(select distinct '${kind}' as kind, encode(substring(sealed from 2 for 4), 'hex') as "keyId"
      from (select ${column} as sealed from ${table} where ${column} is not null order by ${key} limit ${MOST_ROWS}) as stored)`,
  )
  .join(' union all ')
  .concat(' order by kind, "keyId" limit 100');

/** For an operator: `provider keys (1a2b3c4d), two-factor secrets (1a2b3c4d)`. */
export function describeUnreadable(unreadable: readonly UnreadableSecrets[]): string {
  return unreadable.map(({ kind, keyId }) => `${kind} (${keyId})`).join(', ');
}
