import type { Clock } from '../../../ports/clock.ts';
import type { Log } from '../../../ports/log.ts';
import type { Secrets } from '../../../ports/secrets.ts';
import type { Courier } from './courier.ts';
import { EVENT_VERSION } from './emit-event.ts';
import { expand } from './expand.ts';
import { canonical } from './form-body.ts';
import { createParams } from './params.ts';
import { readParameters } from './read-request.ts';
import { invalid, isRefusal, refusal } from './refusal.ts';
import { findReplay, type KeptReply, type KeyedRequest, keepReplay } from './replays.ts';
import { isReply } from './routes/route.ts';
import { type FoundRoute, findRoute } from './routes/table.ts';
import type { World } from './world.ts';

interface ApiOptions {
  readonly world: World;
  readonly courier: Courier;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly log: Log;
}

const LONGEST_KEY = 255;
const NO_API_KEY =
  "You did not provide an API key. You need to provide your API key in the Authorization header, using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY'). See https://stripe.com/docs/api#authentication for details, or we can help at https://support.stripe.com/.";

/** The provider's wire: who asks, in which version, for what, and whether it was asked before. */
export function createApi({ world, courier, clock, secrets, log }: ApiOptions) {
  async function answer(request: Request, requestId: string): Promise<KeptReply & { replayed?: boolean }> {
    const url = new URL(request.url);
    refuseStrangers(request);
    const found = findRoute(request.method, url.pathname);
    if (found === null) {
      const message = `Unrecognized request URL (${request.method}: ${url.pathname.slice(0, 200)}). If you are trying to list objects, remove the trailing slash. If you are trying to retrieve an object, make sure you passed a valid (non-empty) identifier in your code. Please see https://stripe.com/docs or we can help at https://support.stripe.com/.`;
      throw refusal(404, { type: 'invalid_request_error', message });
    }
    const tree = await readParameters(request, url);
    const call = { params: createParams(tree), id: found.id };
    const { route } = found;
    if (route.method === 'GET') {
      const body = await route.read(world.objects, call);
      return { status: 200, body: await expand(world.objects, body, call.params.texts('expand')) };
    }
    const keyed = keyOf(request, found, canonical(tree));
    const origin = { id: requestId, idempotencyKey: keyed?.key ?? null };
    const reply = await world.change(
      async (turn, statements) => {
        const earlier = keyed === null ? null : await findReplay(statements, keyed, clock.now());
        if (earlier !== null) return { status: earlier.status, body: earlier.body, replayed: true };
        const answered = await route.write(turn, call);
        const { status, body } = isReply(answered) ? answered : { status: 200, body: answered };
        const paths = status === 200 ? call.params.texts('expand') : [];
        const made = { status, body: await expand(turn.objects, body, paths) };
        if (keyed !== null) await keepReplay(statements, keyed, made, clock.now());
        return made;
      },
      { request: origin },
    );
    void courier.nudge();
    return reply;
  }

  function keyOf(request: Request, { route, id }: FoundRoute, parameters: string): KeyedRequest | null {
    const key = request.headers.get('idempotency-key');
    if (key === null || key === '' || request.method !== 'POST') return null;
    if (key.length > LONGEST_KEY) {
      throw invalid(`Idempotency keys are at most ${LONGEST_KEY} characters long.`);
    }
    const path = route.path.replace(':id', id);
    return { key, path, fingerprint: secrets.sha256(parameters).toHex() };
  }

  return async (request: Request): Promise<Response> => {
    const requestId = world.newId('req_', 14);
    const headers: Record<string, string> = { 'request-id': requestId, 'stripe-version': EVENT_VERSION };
    const key = request.headers.get('idempotency-key');
    if (key !== null) headers['idempotency-key'] = key.slice(0, LONGEST_KEY);
    try {
      const { status, body, replayed } = await answer(request, requestId);
      if (replayed === true) headers['idempotent-replayed'] = 'true';
      return Response.json(body, { status, headers });
    } catch (error) {
      if (isRefusal(error)) return Response.json({ error: error.error }, { status: error.status, headers });
      log.error('the payment sandbox failed', { error, requestId });
      const message = 'Something went wrong in the payment sandbox. Its log has the rest.';
      return Response.json({ error: { type: 'api_error', message } }, { status: 500, headers });
    }
  };
}

/** Any secret key will do: nothing here belongs to anybody. None at all is what a wrong setting looks like. */
function refuseStrangers({ headers }: Request): void {
  const [scheme = '', credentials = ''] = (headers.get('authorization') ?? '').split(' ');
  const isGiven = /^(?:bearer|basic)$/i.test(scheme) && credentials !== '';
  if (!isGiven) throw refusal(401, { type: 'invalid_request_error', message: NO_API_KEY });
  const version = headers.get('stripe-version');
  if (version !== null && version !== EVENT_VERSION) {
    throw invalid(
      `Invalid Stripe API version: ${version.slice(0, 40)}. This sandbox speaks ${EVENT_VERSION}.`,
    );
  }
}
