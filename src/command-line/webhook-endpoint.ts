import { HANDLED_EVENT_KINDS } from '../domain/payments/apply-event.ts';
import type { PaymentProvider, ProviderFailure, WebhookEndpoint } from '../ports/payment-provider.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE, type Terminal } from './command.ts';

type Answer = { readonly outcome: 'failed'; readonly failure: ProviderFailure };

const MOST_PAGES = 20;

export const createWebhookEndpointCommand: Command = {
  name: 'create-webhook-endpoint',
  usage: 'URL',
  summary: 'Has the payment provider send its events to URL and prints the signing secret, once.',
  works: 'on-the-database',
  async run(context, words) {
    const provider = await begin(context, 'create-webhook-endpoint', words);
    if (typeof provider === 'number') return provider;
    const [url = ''] = words;
    const present = await endpointsAt(provider, url);
    if ('failure' in present) return complain(context.terminal, present);
    const [first] = present.endpoints;
    if (first !== undefined) {
      context.terminal.complain(
        `there is an endpoint for ${url} already (${first.id}). Its secret is shown only when it is made: if it is lost, use turnpike recreate-webhook-endpoint`,
      );
      return EXIT_FAILED;
    }
    return await create(context, provider, url);
  },
};

export const recreateWebhookEndpointCommand: Command = {
  name: 'recreate-webhook-endpoint',
  usage: 'URL',
  summary: 'Makes the endpoint for URL anew, with a new signing secret, and deletes the old one.',
  works: 'on-the-database',
  async run(context, words) {
    const provider = await begin(context, 'recreate-webhook-endpoint', words);
    if (typeof provider === 'number') return provider;
    const [url = ''] = words;
    const present = await endpointsAt(provider, url);
    if ('failure' in present) return complain(context.terminal, present);
    // The new one first: between the two every event has somewhere to go.
    const code = await create(context, provider, url);
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

/** The provider, or the exit code where there is nothing to begin with. */
async function begin(context: Context, name: string, words: readonly string[]) {
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

async function create(context: Context, provider: PaymentProvider, url: string): Promise<number> {
  const { terminal, secrets } = context;
  const wanted = { url, eventKinds: HANDLED_EVENT_KINDS, description: 'Turnpike backend' };
  const made = await provider.createWebhookEndpoint(wanted, `webhook-endpoint:${secrets.newId()}`);
  if (made.outcome === 'failed') return complain(terminal, made);
  terminal.print(`${made.value.id} gets ${HANDLED_EVENT_KINDS.length} kinds of events at ${url}`);
  terminal.print(`the signing secret, shown only now: ${made.value.secret}`);
  terminal.print('give it to the backend as WEBHOOK_SECRET and start it anew');
  return EXIT_OK;
}

async function endpointsAt(
  provider: PaymentProvider,
  url: string,
): Promise<{ readonly endpoints: readonly WebhookEndpoint[] } | Answer> {
  const endpoints: WebhookEndpoint[] = [];
  let after: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const listed = await provider.listWebhookEndpoints(after === undefined ? {} : { after });
    if (listed.outcome === 'failed') return listed;
    endpoints.push(...listed.value.items.filter((endpoint) => endpoint.url === url));
    after = listed.value.items.at(-1)?.id;
    if (!listed.value.hasMore || after === undefined) break;
  }
  return { endpoints };
}

function complain(terminal: Terminal, { failure }: Answer): number {
  terminal.complain(`the payment provider said: ${failure.message}`);
  return EXIT_FAILED;
}
