import {
  listPaymentEvents,
  type PaymentEvent,
  type PaymentEventStatus,
} from '../domain/payments/payment-event.ts';
import { requeueEvent } from '../domain/payments/requeue-event.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';

const STATUSES: readonly PaymentEventStatus[] = ['RECEIVED', 'PROCESSED', 'DEFERRED', 'FAILED', 'IGNORED'];
const SHOWN = 100;
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const paymentEventsCommand: Command = {
  name: 'payment-events',
  usage: '[STATUS] [AFTER_ID]',
  summary: `The payment provider's events, the newest first, ${SHOWN} at a time: what each did, or why not.`,
  works: 'on-the-database',
  async run({ terminal, database }, words) {
    const status = STATUSES.find((one) => one === words[0]?.toUpperCase());
    const [after, ...rest] = words.slice(status === undefined ? 0 : 1);
    if (rest.length > 0 || (after !== undefined && !ID.test(after))) {
      terminal.complain(`usage: turnpike payment-events [${STATUSES.join(' | ')}] [AFTER_ID]`);
      return EXIT_USAGE;
    }
    const events = await listPaymentEvents(database, { status, after, limit: SHOWN });
    for (const event of events) terminal.print(lineAbout(event));
    if (events.length === 0) terminal.print('no events');
    if (events.length === SHOWN) {
      terminal.print(
        `more: turnpike payment-events ${status === undefined ? '' : `${status} `}${events.at(-1)?.id}`,
      );
    }
    return EXIT_OK;
  },
};

export const replayPaymentEventCommand: Command = {
  name: 'replay-payment-event',
  usage: 'ID',
  summary: 'Has the workers try an event again that waits or has failed.',
  works: 'on-the-database',
  async run({ terminal, database, jobQueue, clock }, [id, ...rest]) {
    if (id === undefined || rest.length > 0) {
      terminal.complain('usage: turnpike replay-payment-event ID');
      return EXIT_USAGE;
    }
    const requeued = await requeueEvent({ database, jobQueue, now: new Date(clock.now()) }, id);
    switch (requeued.outcome) {
      case 'requeued':
        terminal.print(`${requeued.event.providerEventId} will be tried again within a minute`);
        return EXIT_OK;
      case 'nothing-to-do':
        terminal.complain(`nothing is to be done about it: ${lineAbout(requeued.event)}`);
        return EXIT_FAILED;
      case 'no-such-event':
        terminal.complain(`there is no event ${id}: turnpike payment-events lists them`);
        return EXIT_FAILED;
    }
  },
};

function lineAbout({ id, providerEventId, type, status, effect, error, receivedAt }: PaymentEvent): string {
  const what = error ?? effect;
  return `${id} ${receivedAt.toISOString()} ${status} ${type} ${providerEventId}${what === null ? '' : `: ${what}`}`;
}
