import { publishLevel, readLevel } from '../domain/credits/ledger/credit-account.ts';
import { HANDLED_EVENT_KINDS } from '../domain/payments/apply-event.ts';
import { replayObject } from '../domain/payments/cash/replay-object.ts';
import {
  listPaymentEvents,
  type PaymentEvent,
  type PaymentEventStatus,
} from '../domain/payments/event-inbox.ts';
import { PROVIDER_KEEPS_EVENTS_MS, replayPayments } from '../domain/payments/missed-events.ts';
import { dropEvent, requeueEvent } from '../domain/payments/payment-jobs.ts';
import { deactivateStaleSubscriptions, MOST_STALE } from '../domain/subscriptions/subscription.ts';
import type { PaymentProvider, ProviderFailure, WebhookEndpoint } from '../ports/payment-provider.ts';
import {
  type Command,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  momentIn,
  printJson,
  readOptions,
  type Terminal,
  takeJson,
} from './command.ts';

const STATUSES: readonly PaymentEventStatus[] = ['RECEIVED', 'PROCESSED', 'DEFERRED', 'FAILED', 'IGNORED'];
const EVENTS_SHOWN = 100;
const LONGEST_REASON = 300;
const EVENT_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const paymentEventsCommand: Command = {
  name: 'payment-events',
  usage: '[STATUS] [AFTER_ID] [--json]',
  summary: `The payment provider's events, the newest first, ${EVENTS_SHOWN} at a time: what each did, or why not.`,
  works: 'on-the-database',
  async run({ terminal, database }, given) {
    const { isJson, words } = takeJson(given);
    const status = STATUSES.find((one) => one === words[0]?.toUpperCase());
    const [after, ...rest] = words.slice(status === undefined ? 0 : 1);
    if (rest.length > 0 || (after !== undefined && !EVENT_ID.test(after))) {
      return complainOfUsage(terminal, paymentEventsCommand, `[${STATUSES.join(' | ')}] [AFTER_ID]`);
    }
    const events = await listPaymentEvents(database, { status, after, limit: EVENTS_SHOWN });
    if (isJson) return printJson(terminal, events);
    for (const event of events) terminal.print(lineAboutEvent(event));
    if (events.length === 0) terminal.print('no events');
    if (events.length === EVENTS_SHOWN) {
      terminal.print(
        `more: turnpike payment-events ${status === undefined ? '' : `${status} `}${events.at(-1)?.id}`,
      );
    }
    return EXIT_OK;
  },
};

export const replayPaymentEventCommand: Command = {
  name: 'replay-payment-event',
  usage: 'ID [--drop REASON]',
  summary:
    'Retries an event that is waiting or has failed. --drop ends one that you dealt with in another way: it is never applied.',
  works: 'on-the-database',
  async run({ terminal, database, jobQueue, clock }, words) {
    const typed = readOptions(words, { drop: { type: 'string' } }, 1);
    const [id] = typed?.positionals ?? [];
    const reason = typed?.values.drop;
    if (id === undefined || reason?.trim() === '' || (reason?.length ?? 0) > LONGEST_REASON) {
      return complainOfUsage(terminal, replayPaymentEventCommand);
    }
    const now = new Date(clock.now());
    const done =
      reason === undefined
        ? await requeueEvent({ database, jobQueue, now }, id)
        : await dropEvent(database, id, { reason, now });
    switch (done.outcome) {
      case 'requeued':
        terminal.print(`${done.event.providerEventId} will be tried again within a minute`);
        return EXIT_OK;
      case 'dropped':
        terminal.print(`${id} dropped: it is never applied`);
        return EXIT_OK;
      case 'nothing-to-do':
        terminal.complain(`nothing is to be done about it: ${lineAboutEvent(done.event)}`);
        return EXIT_FAILED;
      case 'no-such-event':
        terminal.complain(`there is no event ${id}: turnpike payment-events lists them`);
        return EXIT_FAILED;
    }
  },
};

export const replayPaymentsCommand: Command = {
  name: 'replay-payments',
  usage: '--from TIME --to TIME | --object ID',
  summary:
    "Reads all of the provider's events of a time range, or one object, again and applies what is missing here.",
  works: 'on-the-database',
  async run(context, words) {
    const { terminal, clock, payments } = context;
    if (words[0] === '--object') return await replayOne(context, words.slice(1));
    const range = readRange(words);
    if (range === null) {
      return complainOfUsage(
        terminal,
        replayPaymentsCommand,
        '--object ID | --from TIME --to TIME, as 2026-01-31 or 2026-01-31T08:00:00Z; a day as --to counts to its end (UTC)',
      );
    }
    if (payments === undefined) return complainOfNoProvider(terminal);
    if (range.from.getTime() < clock.now() - PROVIDER_KEEPS_EVENTS_MS) {
      terminal.print('the payment provider stores events for 30 days: older ones may be missing');
    }
    const replayed = await replayPayments(await payments(), range);
    if (replayed.outcome === 'replayed') {
      terminal.print(`${replayed.events} events read, ${replayed.applied} of them applied now`);
      return EXIT_OK;
    }
    terminal.complain(replayed.message);
    return replayed.outcome === 'invalid' ? EXIT_USAGE : EXIT_FAILED;
  },
};

/** Works for objects of any age: the provider stores events for 30 days, but objects permanently. */
async function replayOne(
  { terminal, payments, paymentProvider, database, sharedState }: Context,
  [id, ...rest]: readonly string[],
): Promise<number> {
  if (id === undefined || rest.length > 0 || !/^[a-z]{2}_\w{1,200}$/.test(id)) {
    return complainOfUsage(
      terminal,
      replayPaymentsCommand,
      '--object ID, as in_1NpZ…, ch_…, cs_…, dp_… or cn_…',
    );
  }
  if (payments === undefined || paymentProvider === undefined) return complainOfNoProvider(terminal);
  const replayed = await replayObject({ ...(await payments()), provider: await paymentProvider() }, id);
  switch (replayed.outcome) {
    case 'applied': {
      const level = replayed.companyId === null ? null : await readLevel(database, replayed.companyId);
      if (level !== null) await publishLevel(sharedState, level);
      terminal.print(replayed.did);
      return EXIT_OK;
    }
    case 'invalid':
      terminal.complain(replayed.message);
      return EXIT_USAGE;
    case 'not-applied':
    case 'provider-failed':
      terminal.complain(replayed.message);
      return EXIT_FAILED;
  }
}

function readRange(words: readonly string[]): { readonly from: Date; readonly to: Date } | null {
  const options = { from: { type: 'string' }, to: { type: 'string' } } as const;
  const typed = readOptions(words, options);
  if (typed === null) return null;
  const { from = '', to = '' } = typed.values;
  const [begin, end] = [momentIn(from), momentIn(to)];
  if (Number.isNaN(begin.getTime()) || Number.isNaN(end.getTime())) return null;
  return { from: begin, to: to.includes('T') ? end : new Date(end.getTime() + DAY_MS - 1) };
}

const DAY_MS = 24 * 60 * 60_000;

function complainOfNoProvider(terminal: Terminal): number {
  terminal.complain('This process has no payment provider: set PAYMENT_PROVIDER_KEY as the backend has it.');
  return EXIT_FAILED;
}

function lineAboutEvent({
  id,
  providerEventId,
  type,
  status,
  effect,
  error,
  receivedAt,
}: PaymentEvent): string {
  const what = error ?? effect;
  return `${id} ${receivedAt.toISOString()} ${status} ${type} ${providerEventId}${what === null ? '' : `: ${what}`}`;
}

const STALE_USAGE = '[--ids SUB_1,SUB_2 …] [--apply] [--json]';

export const deactivateStaleSubscriptionsCommand: Command = {
  name: 'deactivate-stale-subscriptions',
  usage: STALE_USAGE,
  summary:
    'Lists active subscriptions that the payment provider no longer reports; --apply cancels them here.',
  works: 'on-the-database',
  async run({ terminal, database, clock }, given) {
    const { isJson, words } = takeJson(given);
    const options = readStaleOptions(words);
    if (options === null) {
      return complainOfUsage(terminal, deactivateStaleSubscriptionsCommand);
    }
    const { ids, apply } = options;
    const stale = await deactivateStaleSubscriptions(database, {
      providerSubscriptionIds: ids,
      dryRun: !apply,
      now: new Date(clock.now()),
    });
    if (isJson) return printJson(terminal, stale);
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

function readStaleOptions(
  words: readonly string[],
): { readonly ids: readonly string[] | null; readonly apply: boolean } | null {
  const options = { ids: { type: 'string', multiple: true }, apply: { type: 'boolean' } } as const;
  const typed = readOptions(words, options);
  if (typed === null) return null;
  const { values } = typed;
  const { apply = false } = values;
  if (values.ids === undefined) return { ids: null, apply };
  const ids = values.ids
    .flatMap((text) => text.split(','))
    .map((id) => id.trim())
    .filter((id) => id !== '');
  return ids.length === 0 || ids.length > MOST_STALE ? null : { ids, apply };
}

type Answer = { readonly outcome: 'failed'; readonly failure: ProviderFailure };

const MOST_ENDPOINT_PAGES = 20;

export const createWebhookEndpointCommand: Command = {
  name: 'create-webhook-endpoint',
  usage: 'URL',
  summary: 'Creates a webhook endpoint for URL at the payment provider and prints its signing secret, once.',
  works: 'on-the-database',
  async run(context, words) {
    const provider = await checkEndpointCommand(context, 'create-webhook-endpoint', words);
    if (typeof provider === 'number') return provider;
    const [url = ''] = words;
    const present = await endpointsAt(provider, url);
    if ('failure' in present) return complainOfProvider(context.terminal, present);
    const [first] = present.endpoints;
    if (first !== undefined) {
      context.terminal.complain(
        `there is an endpoint for ${url} already (${first.id}). Its secret is shown only when it is made: if it is lost, use turnpike recreate-webhook-endpoint`,
      );
      return EXIT_FAILED;
    }
    return await createEndpoint(context, provider, url);
  },
};

export const recreateWebhookEndpointCommand: Command = {
  name: 'recreate-webhook-endpoint',
  usage: 'URL',
  summary: 'Creates the endpoint for URL again with a new signing secret, and deletes the old one.',
  works: 'on-the-database',
  async run(context, words) {
    const provider = await checkEndpointCommand(context, 'recreate-webhook-endpoint', words);
    if (typeof provider === 'number') return provider;
    const [url = ''] = words;
    const present = await endpointsAt(provider, url);
    if ('failure' in present) return complainOfProvider(context.terminal, present);
    // The new endpoint is created first, so that every event can be delivered in the meantime.
    const code = await createEndpoint(context, provider, url);
    if (code !== EXIT_OK) return code;
    for (const { id } of present.endpoints) {
      const deleted = await provider.deleteWebhookEndpoint(id);
      if (deleted.outcome === 'failed' && deleted.failure.reason !== 'not-found') {
        context.terminal.complain(`the old endpoint ${id} could not be deleted: ${deleted.failure.message}`);
        return EXIT_FAILED;
      }
      context.terminal.print(`deleted ${id}`);
    }
    return EXIT_OK;
  },
};

type RunOnDatabase = Extract<Command, { works: 'on-the-database' }>['run'];
type Context = Parameters<RunOnDatabase>[0];

/** The provider, or an exit code if the arguments are invalid or there is no provider. */
async function checkEndpointCommand(context: Context, name: string, words: readonly string[]) {
  const [url, ...rest] = words;
  const parsed = url === undefined ? null : URL.parse(url);
  if (rest.length > 0 || parsed === null || (parsed.protocol !== 'https:' && parsed.protocol !== 'http:')) {
    context.terminal.complain(`usage: turnpike ${name} URL, as https://backend.example/payments/webhook`);
    return EXIT_USAGE;
  }
  if (context.paymentProvider === undefined) {
    context.terminal.complain(
      'this process was given no payment provider: set its secret key, as the backend has it',
    );
    return EXIT_FAILED;
  }
  return await context.paymentProvider();
}

async function createEndpoint(context: Context, provider: PaymentProvider, url: string): Promise<number> {
  const { terminal, secrets } = context;
  const params = { url, eventKinds: HANDLED_EVENT_KINDS, description: 'Turnpike backend' };
  const made = await provider.createWebhookEndpoint(params, `webhook-endpoint:${secrets.newId()}`);
  if (made.outcome === 'failed') return complainOfProvider(terminal, made);
  terminal.print(`${made.value.id} gets ${HANDLED_EVENT_KINDS.length} kinds of events at ${url}`);
  terminal.print(`the signing secret, shown only now: ${made.value.secret}`);
  terminal.print('set it as WEBHOOK_SECRET of the backend and restart the backend');
  return EXIT_OK;
}

async function endpointsAt(
  provider: PaymentProvider,
  url: string,
): Promise<{ readonly endpoints: readonly WebhookEndpoint[] } | Answer> {
  const endpoints: WebhookEndpoint[] = [];
  let after: string | undefined;
  for (let page = 0; page < MOST_ENDPOINT_PAGES; page += 1) {
    const listed = await provider.listWebhookEndpoints(after === undefined ? {} : { after });
    if (listed.outcome === 'failed') return listed;
    endpoints.push(...listed.value.items.filter((endpoint) => endpoint.url === url));
    after = listed.value.items.at(-1)?.id;
    if (!listed.value.hasMore || after === undefined) break;
  }
  return { endpoints };
}

function complainOfProvider(terminal: Terminal, { failure }: Answer): number {
  terminal.complain(`the payment provider said: ${failure.message}`);
  return EXIT_FAILED;
}
