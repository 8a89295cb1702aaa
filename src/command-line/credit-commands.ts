import { parseArgs } from 'node:util';
import { creditsOfMicro, microOfCredits } from '../domain/credits/credit-amount.ts';
import { postTransaction } from '../domain/credits/post-transaction.ts';
import { publishLevel } from '../domain/credits/publish-level.ts';
import { isId } from '../domain/keys/api-key.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';

const ADJUST_USAGE = 'ACCOUNT_ID CREDITS --reason TEXT --idempotency-key KEY';
const LONGEST_REASON = 500;
const LONGEST_KEY = 200;

/** The key makes a repeated command harmless: whoever does not know whether it worked types it again. */
export const adjustCreditsCommand: Command = {
  name: 'adjust-credits',
  usage: 'ACCOUNT_ID CREDITS …',
  summary: 'Adds credits to a company or user, or takes them (-12.5). Without words it says its options.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState }, words) {
    const wish = readWish(words);
    if (wish === null) {
      terminal.complain(`usage: turnpike adjust-credits ${ADJUST_USAGE}`);
      return EXIT_USAGE;
    }
    const { accountId, amountMicro, reason, key } = wish;
    const posted = await database.transaction((transaction) =>
      postTransaction(transaction, {
        accountId,
        type: 'ADJUSTMENT',
        amountMicro,
        contra: 'adjustments',
        sourceKind: 'adjustment',
        sourceId: key,
        reason,
      }),
    );
    switch (posted.outcome) {
      case 'posted':
        await publishLevel(sharedState, posted.level);
        terminal.print(`${accountId} now holds ${creditsOfMicro(posted.level.balanceMicro)} credits`);
        return EXIT_OK;
      case 'already-posted': {
        const { posted: before, level } = posted;
        if (before.accountId !== accountId || before.amountMicro !== amountMicro) {
          const was = `${creditsOfMicro(before.amountMicro)} credits to ${before.accountId}`;
          terminal.complain(`this idempotency key was used for ${was}: nothing was changed, use another key`);
          return EXIT_FAILED;
        }
        terminal.print(`was done before: ${accountId} holds ${creditsOfMicro(level.balanceMicro)} credits`);
        return EXIT_OK;
      }
      case 'no-account':
        terminal.complain(`there is no account ${accountId}: turnpike companies lists the companies`);
        return EXIT_FAILED;
      case 'wrong-amount':
        terminal.complain(posted.problem);
        return EXIT_FAILED;
    }
  },
};

function readWish(words: readonly string[]) {
  // A negative amount looks like an option to the parser, so it is taken out first.
  const [accountId, credits, ...options] = words;
  const amountMicro = microOfCredits(credits ?? '');
  if (accountId === undefined || !isId(accountId) || amountMicro === null) return null;
  try {
    const { values } = parseArgs({
      args: options,
      options: { reason: { type: 'string' }, 'idempotency-key': { type: 'string' } },
    });
    const { reason, 'idempotency-key': key } = values;
    if (reason === undefined || reason.trim() === '' || reason.length > LONGEST_REASON) return null;
    if (key === undefined || key === '' || key.length > LONGEST_KEY) return null;
    return { accountId, amountMicro, reason, key };
  } catch {
    // An option that there is not, or one without its value.
    return null;
  }
}
