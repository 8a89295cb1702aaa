import type { Database } from '../ports/database.ts';
import { invalid, isRefusal, refusal } from './api-errors.ts';
import { disputeCharge, failRefund } from './billing/disputes.ts';
import { createParams, isFromElsewhere, type Params, readOwnParameters } from './request-params.ts';
import type { SandboxTime } from './sandbox-clock.ts';
import { readSwitches, switchNames, writeSwitches } from './state/events.ts';
import { cards } from './state/object-store.ts';
import { need, type World } from './state/transaction.ts';
import { listDeliveries } from './state/webhook-delivery.ts';

interface OwnRoutesOptions {
  readonly world: World;
  readonly database: Database;
  readonly time: SandboxTime;
}

const MOST_EVENTS = 1_000;
const LONGEST_DELAY_MS = 24 * 3_600_000;
const FURTHEST_SECONDS = 5 * 366 * 86_400;

/** Routes that the real provider does not have: a clock to move, cards that fail, and switches that cause faults. */
export function createOwnRoutes({ world, database, time }: OwnRoutesOptions) {
  async function moveClock(params: Params): Promise<object> {
    const seconds = params.whole('advance_seconds', { min: 1, max: FURTHEST_SECONDS });
    if (seconds === undefined) throw invalid('Missing required param: advance_seconds.', 'advance_seconds');
    return await time.advance(seconds);
  }

  async function setSwitches(params: Params): Promise<object> {
    return await world.change(async (_, statements) => {
      const switches = { ...(await readSwitches(statements)) };
      for (const name of switchNames) {
        const max = name === 'delay_ms' ? LONGEST_DELAY_MS : MOST_EVENTS;
        switches[name] = params.whole(name, { min: 0, max }) ?? switches[name];
      }
      // A delay without a number of events applies to the next event only.
      if (params.has('delay_ms') && !params.has('delay')) switches.delay = switches.delay_ms > 0 ? 1 : 0;
      await writeSwitches(statements, switches);
      return switches;
    });
  }

  async function setCard(params: Params): Promise<object> {
    const customer = params.needed('customer', 255);
    const card = params.choice('card', cards);
    if (card === undefined) throw invalid(`card must be one of ${cards.join(', ')}`, 'card');
    return await world.change(async (turn) => {
      const { body } = await need(turn, 'customer', customer, 'customer');
      await turn.objects.put('customer', body, { hidden: { card } });
      return { customer, card };
    });
  }

  async function answer(request: Request, url: URL): Promise<object | null> {
    const { pathname, searchParams } = url;
    const asked = `${request.method} ${pathname}`;
    if (asked === 'GET /sandbox/clock') return { now: await world.now() };
    if (asked === 'GET /sandbox/faults') return await readSwitches(database);
    if (asked === 'GET /sandbox/deliveries') {
      const params = createParams(new Map(searchParams));
      const limit = params.whole('limit', { min: 1, max: 1_000 }) ?? 100;
      return { data: await listDeliveries(database, limit) };
    }
    if (request.method !== 'POST') return null;
    const change = {
      '/sandbox/clock': moveClock,
      '/sandbox/faults': setSwitches,
      '/sandbox/cards': setCard,
      '/sandbox/disputes': (params: Params) => world.change((turn) => disputeCharge(turn, params)),
      '/sandbox/refunds': (params: Params) => world.change((turn) => failRefund(turn, params)),
    };
    const chosen = Object.entries(change).find(([path]) => path === pathname)?.[1];
    if (chosen !== undefined && isFromElsewhere(request, url)) {
      const message = 'The sandbox takes no requests from pages of other sites.';
      throw refusal(403, { type: 'invalid_request_error', message });
    }
    return chosen === undefined ? null : await chosen(createParams(await readOwnParameters(request)));
  }

  return async (request: Request, url: URL): Promise<Response | null> => {
    try {
      const body = await answer(request, url);
      return body === null ? null : Response.json(body);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return Response.json({ error: error.error }, { status: error.status });
    }
  };
}
