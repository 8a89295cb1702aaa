import { appendAuditEntry } from '../domain/audit/audit-log.ts';
import {
  dropWithheldUsage,
  LONGEST_NOTE,
  listWithheldUsage,
  postWithheldUsage,
  type ResolvedUsage,
  type WithheldUsage,
} from '../domain/calls/settlement/withheld-usage.ts';
import { creditsOfMicro, publishLevel } from '../domain/credits/ledger/credit-account.ts';
import { isId } from '../domain/keys/api-key.ts';
import {
  type Command,
  type CommandContext,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  type OpenedSystem,
  printJson,
  readOptions,
  takeJson,
} from './command.ts';

const MOST_SHOWN = 1_000;
const USAGE =
  '[CALL_ID …|--all [--model ALIAS] --post REASON | CALL_ID …|--all [--model ALIAS] --drop REASON]';

/** Can be run again after a failure: usage that was already posted or dropped is not changed. */
export const withheldUsageCommand: Command = {
  name: 'withheld-usage',
  usage: '[CALL_ID …] [--json]',
  summary: 'Usage beyond what the alias allows for a call. --post charges it; otherwise it can be dropped.',
  works: 'on-the-database',
  async run(context, given) {
    const { isJson, words } = takeJson(given);
    const options = readWords(words);
    if (options === null) return complainOfUsage(context.terminal, withheldUsageCommand, USAGE);
    if (options.action === 'list') return await list(context, isJson);
    const { action, note, model } = options;
    const callIds = options.all ? await openCalls(context, model) : options.callIds;
    if (callIds.length === 0) context.terminal.print('no usage is withheld');
    let failed = 0;
    for (const callId of callIds) failed += (await resolve(context, callId, { action, note })) ? 0 : 1;
    return failed === 0 ? EXIT_OK : EXIT_FAILED;
  },
};

async function list({ terminal, database }: CommandContext & OpenedSystem, isJson: boolean): Promise<number> {
  const open = await listWithheldUsage(database, { limit: MOST_SHOWN, after: null, onlyOpen: true });
  if (isJson) return printJson(terminal, open);
  for (const usage of open) terminal.print(lineOf(usage));
  terminal.print(
    open.length === 0
      ? 'no usage is withheld'
      : `calls with withheld usage: ${open.length}; post or drop each: turnpike withheld-usage ${USAGE.slice(1, -1)}`,
  );
  return EXIT_OK;
}

/** At most `MOST_SHOWN` at a time; run the command again for the rest. */
async function openCalls({ database }: OpenedSystem, model: string | null): Promise<readonly string[]> {
  const open = await listWithheldUsage(database, { limit: MOST_SHOWN, after: null, onlyOpen: true, model });
  return open.map(({ callId }) => callId);
}

function lineOf(usage: WithheldUsage): string {
  const { callId, companyId, alias, withheldAt } = usage;
  const tokens = `prompt ${usage.promptTokens} of at most ${usage.promptBound} tokens, completion ${usage.completionTokens} of at most ${usage.completionBound}`;
  const credits = `charged ${creditsOfMicro(usage.chargedMicro)}, withheld ${creditsOfMicro(usage.excessMicro)} credits`;
  return `${callId} ${withheldAt.toISOString()} company ${companyId}, ${alias}: ${tokens}; ${credits}`;
}

async function resolve(
  context: CommandContext & OpenedSystem,
  callId: string,
  { action, note }: { readonly action: 'post' | 'drop'; readonly note: string },
): Promise<boolean> {
  const { terminal, database, sharedState, clock, secrets } = context;
  if (!isId(callId)) {
    terminal.complain(`${callId} is not the id of a call`);
    return false;
  }
  const now = new Date(clock.now());
  const resolved = await database.transaction(async (transaction): Promise<ResolvedUsage> => {
    const work = action === 'post' ? postWithheldUsage : dropWithheldUsage;
    const done = await work(transaction, { callId, note, now });
    if (done.outcome !== 'resolved' || !done.isNew) return done;
    await appendAuditEntry(transaction, {
      happenedAt: now,
      companyId: done.usage.companyId,
      actorId: null,
      actorEmail: null,
      action: action === 'post' ? 'withheld-usage.posted' : 'withheld-usage.dropped',
      objectKind: 'call',
      objectId: callId,
      details: { excessMicro: String(done.usage.excessMicro), reason: note },
      clientAddress: 'command line',
      requestId: secrets.newId(),
    });
    return done;
  });
  switch (resolved.outcome) {
    case 'resolved': {
      if (resolved.level !== null) await publishLevel(sharedState, resolved.level);
      const { usage, isNew } = resolved;
      const credits = `${creditsOfMicro(usage.excessMicro)} credits`;
      const done =
        action === 'post' ? `${credits} charged to ${usage.companyId}` : `${credits} are never charged`;
      terminal.print(`${callId} ${isNew ? '' : 'was resolved before: '}${done}`);
      return true;
    }
    case 'resolved-otherwise':
      terminal.complain(`${callId} was ${resolved.usage.resolution?.toLowerCase()} before: nothing changed`);
      return false;
    case 'not-found':
      terminal.complain(`${callId} has no withheld usage: turnpike withheld-usage lists those that have`);
      return false;
    case 'wrong-amount':
      terminal.complain(`${callId} cannot be posted: ${resolved.problem}; drop it`);
      return false;
  }
}

type WithheldUsageOptions =
  | { readonly action: 'list' }
  | {
      readonly action: 'post' | 'drop';
      readonly callIds: readonly string[];
      readonly all: boolean;
      /** With `--all`: only calls of this alias. */
      readonly model: string | null;
      readonly note: string;
    };

function readWords(words: readonly string[]): WithheldUsageOptions | null {
  const option = { type: 'string' } as const;
  const options = { all: { type: 'boolean' }, model: option, post: option, drop: option } as const;
  const typed = readOptions(words, options, Number.POSITIVE_INFINITY);
  if (typed === null) return null;
  const { values, positionals: callIds } = typed;
  const { all = false, model = null, post, drop } = values;
  const note = (post ?? drop ?? '').trim();
  if (words.length === 0) return { action: 'list' };
  if (all === callIds.length > 0 || (model !== null && !all)) return null;
  if ((post === undefined) === (drop === undefined) || note === '' || note.length > LONGEST_NOTE) return null;
  return { callIds, all, model, action: post === undefined ? 'drop' : 'post', note };
}
