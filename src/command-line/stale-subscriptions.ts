import { parseArgs } from 'node:util';
import { deactivateStaleSubscriptions, MOST_STALE } from '../domain/subscriptions/deactivate-stale.ts';
import { type Command, EXIT_OK, EXIT_USAGE } from './command.ts';

const USAGE = '[--ids SUB_1,SUB_2 …] [--apply]';

export const deactivateStaleSubscriptionsCommand: Command = {
  name: 'deactivate-stale-subscriptions',
  usage: USAGE,
  summary:
    'Lists active subscriptions that the provider tells nothing of any more; --apply cancels them here.',
  works: 'on-the-database',
  async run({ terminal, database, clock }, words) {
    const wanted = read(words);
    if (wanted === null) {
      terminal.complain(`usage: turnpike deactivate-stale-subscriptions ${USAGE}`);
      return EXIT_USAGE;
    }
    const { ids, apply } = wanted;
    const stale = await deactivateStaleSubscriptions(database, {
      providerSubscriptionIds: ids,
      dryRun: !apply,
      now: new Date(clock.now()),
    });
    for (const { id, companyId, providerSubscriptionId, status, currentPeriodEnd } of stale) {
      const until = currentPeriodEnd?.toISOString() ?? 'unknown';
      terminal.print(`${id} ${providerSubscriptionId} company ${companyId} ${status} period until ${until}`);
    }
    const what = stale.length === 1 ? '1 subscription' : `${stale.length} subscriptions`;
    const more = stale.length === MOST_STALE ? ' There may be more: run it again.' : '';
    terminal.print(
      apply ? `${what} canceled.${more}` : `${what} would be canceled: add --apply to do it.${more}`,
    );
    return EXIT_OK;
  },
};

function read(
  words: readonly string[],
): { readonly ids: readonly string[] | null; readonly apply: boolean } | null {
  const options = { ids: { type: 'string', multiple: true }, apply: { type: 'boolean' } } as const;
  try {
    const { values } = parseArgs({ args: [...words], options, allowPositionals: false });
    const { apply = false } = values;
    if (values.ids === undefined) return { ids: null, apply };
    const ids = values.ids
      .flatMap((text) => text.split(','))
      .map((id) => id.trim())
      .filter((id) => id !== '');
    return ids.length === 0 || ids.length > MOST_STALE ? null : { ids, apply };
  } catch {
    // An option that there is not, or one without its value.
    return null;
  }
}
