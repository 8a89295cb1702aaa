import { masterKeyIds } from '../../domain/models/cipher.ts';
import { describeUnreadable, findSealedSecrets } from '../../domain/reconciliation/sealed-secrets.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import { StartProblem } from '../processes/lifecycle.ts';
import { accepted, type SecretsInUse } from '../settings/secrets.ts';

interface MasterKeyParts {
  readonly database: Database;
  readonly ownSecrets: SecretsInUse;
}

/**
 * Null if MASTER_KEY or MASTER_KEY_ALSO opens any stored secret, or none is stored. A process with another key would
 * start, and then refuse every call of a provider with a key.
 */
export async function wrongMasterKey({ database, ownSecrets }: MasterKeyParts): Promise<string | null> {
  const keyIds = await masterKeyIds(accepted(ownSecrets, 'masterKey'));
  const { someOpen, unreadable } = await findSealedSecrets(database, keyIds);
  if (someOpen) return null;
  const wanted = [...new Set(unreadable.map(({ keyId }) => keyId))].join(' or ');
  return (
    `MASTER_KEY has the id ${keyIds.join(', ')} and opens none of the stored secrets: ${describeUnreadable(unreadable)}. ` +
    `Set MASTER_KEY, or MASTER_KEY_ALSO, to the key with the id ${wanted}. If that key is lost, see "A lost MASTER_KEY" in docs/operations.md`
  );
}

/** Refuses to start with a wrong key; some secrets that do not open are reported, because the others serve. */
export async function checkMasterKey({
  log,
  ...parts
}: MasterKeyParts & { readonly log: Log }): Promise<void> {
  if (parts.ownSecrets.masterKey === null) return;
  const problem = await wrongMasterKey(parts);
  if (problem !== null) throw new StartProblem(problem);
  const keyIds = await masterKeyIds(accepted(parts.ownSecrets, 'masterKey'));
  const { unreadable } = await findSealedSecrets(parts.database, keyIds);
  if (unreadable.length === 0) return;
  log.warn(SOME_UNREADABLE, { unreadable: describeUnreadable(unreadable), ownKeys: keyIds.join(', ') });
}

const SOME_UNREADABLE =
  'some stored secrets do not open under MASTER_KEY or MASTER_KEY_ALSO: set MASTER_KEY_ALSO to the key with that id, or enter them again (turnpike reseal-keys lists them)';

/** They change only when an operator changes keys, and health is asked every second. */
const FRESH_MS = 60_000;

/** For health: how many kinds of secrets, by their key, do not open. */
export function secretsFindings({ database, ownSecrets, clock }: MasterKeyParts & { readonly clock: Clock }) {
  let unreadable = 0;
  let readAtMs: number | null = null;
  return async () => {
    if (ownSecrets.masterKey !== null && (readAtMs === null || clock.uptimeMs() - readAtMs >= FRESH_MS)) {
      const keyIds = await masterKeyIds(accepted(ownSecrets, 'masterKey'));
      // If the database fails, which its own check reports, the last count is kept.
      const found = await findSealedSecrets(database, keyIds).catch(() => null);
      if (found !== null) {
        unreadable = found.unreadable.length;
        readAtMs = clock.uptimeMs();
      }
    }
    return { isWell: unreadable === 0, figures: { unreadable } };
  };
}
