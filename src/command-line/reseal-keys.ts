import { aliasOf } from '../domain/models/aliases.ts';
import { resealTargets } from '../domain/models/reseal-targets.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';

/** The second of the three steps in which MASTER_KEY is changed; docs/operations.md tells all of them. */
export const resealKeysCommand: Command = {
  name: 'reseal-keys',
  usage: '',
  summary: 'Encrypts all provider keys anew under MASTER_KEY, so that MASTER_KEY_ALSO can go.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState, aliasPrefix, cipher }, words) {
    if (words.length > 0) {
      terminal.complain('usage: turnpike reseal-keys');
      return EXIT_USAGE;
    }
    const { resealed, unreadable } = await resealTargets({ database, sharedState, cipher: await cipher() });
    terminal.print(`${resealed} provider keys are encrypted under MASTER_KEY`);
    for (const { alias, baseUrl } of unreadable) {
      terminal.complain(
        `the key of ${baseUrl} behind ${aliasOf(aliasPrefix, alias)} opens under neither MASTER_KEY nor MASTER_KEY_ALSO: set the alias again`,
      );
    }
    return unreadable.length > 0 ? EXIT_FAILED : EXIT_OK;
  },
};
