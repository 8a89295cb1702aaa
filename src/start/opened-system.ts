import type { CommandContext, OpenedSystem } from '../command-line/command.ts';
import { createAccessTokens } from '../domain/accounts/access-token.ts';
import { createCipher } from '../domain/models/cipher.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import type { Parts } from './connect.ts';
import { accepted } from './kept-secrets.ts';

/** What commands work on, wherever they run. */
export function openedSystem(
  parts: Parts,
  jobQueue: JobQueue,
  migrate: OpenedSystem['migrate'],
): Omit<CommandContext, 'terminal'> & OpenedSystem {
  const { configuration, clock, secrets, database, sharedState, ownSecrets } = parts;
  return {
    clock,
    secrets,
    database,
    sharedState,
    jobQueue,
    migrate,
    aliasPrefix: configuration.aliasPrefix,
    accessTokens: async () => await createAccessTokens(accepted(ownSecrets, 'jwtSecret'), clock),
    // Loaded by those commands alone that ask the provider.
    paymentProvider: async () => (await import('./open-payments.ts')).openProvider(parts, null),
    cipher: async () => createCipher({ masterKeys: accepted(ownSecrets, 'masterKey'), secrets }),
  };
}
