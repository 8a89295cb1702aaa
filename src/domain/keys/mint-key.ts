import type { Clock } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { addKey } from './add-key.ts';
import { type ApiKey, isId } from './api-key.ts';
import { KEY_BYTES, rawKeyFrom } from './raw-key.ts';
import { type CheckedKey, checkWantedKey, type WantedKey } from './wanted-key.ts';

export interface MintParts {
  readonly database: Statements;
  readonly secrets: Secrets;
  readonly clock: Clock;
}

export interface KeyToMint extends WantedKey {
  readonly companyId: string;
  /** The user who mints it; null on the command line. */
  readonly createdBy: string | null;
}

/** `rawKey` is shown to whoever asked, and never again: nothing keeps it (G-19). */
export type MintedKey =
  | { readonly outcome: 'minted'; readonly rawKey: string; readonly key: ApiKey }
  | Extract<CheckedKey, { outcome: 'invalid' }>
  | { readonly outcome: 'no-such-company' };

export async function mintKey(parts: MintParts, wanted: KeyToMint): Promise<MintedKey> {
  const checked = checkWantedKey(wanted, parts.clock.now());
  if (checked.outcome === 'invalid') return checked;
  if (!isId(wanted.companyId)) return { outcome: 'no-such-company' };
  const { companyId, createdBy } = wanted;
  const rawKey = drawRawKey(parts.secrets);
  const id = parts.secrets.newId();
  const key = await addKey(parts.database, parts.secrets, {
    ...checked.settings,
    id,
    companyId,
    createdBy,
    rawKey,
  });
  return key === null ? { outcome: 'no-such-company' } : { outcome: 'minted', rawKey, key };
}

export function drawRawKey(secrets: Secrets): string {
  return rawKeyFrom(secrets.randomBytes(KEY_BYTES));
}
