import type { ApiKey } from '../domain/keys/api-key.ts';
import type { KeyDirectory } from '../domain/keys/key-directory.ts';
import { estimateTokens } from '../domain/limits/estimate-tokens.ts';
import type { CallReservation, KeyAllowances, Limits } from '../domain/limits/limits.ts';
import type { Alias } from '../domain/models/aliases.ts';
import type { ModelDirectory } from '../domain/models/model-directory.ts';
import { bearerToken } from '../http/bearer-token.ts';
import { type BodyBounds, readBody } from '../http/read-body.ts';
import type { Secrets } from '../ports/secrets.ts';
import { type ModelBodyFields, readModelBody } from './model-body.ts';
import type { Refusal } from './refusals.ts';
import { type Route, routeOf } from './routes.ts';

export interface AdmitParts {
  readonly keys: KeyDirectory;
  readonly models: ModelDirectory;
  readonly limits: Limits;
  readonly secrets: Secrets;
  readonly bodyBounds: BodyBounds;
}

export interface Arrival {
  readonly request: Request;
  readonly path: string;
  readonly address: string;
}

export type ModelRoute = Extract<Route, { kind: 'model-call' }>;
export type ReadRoute = Exclude<Route, { kind: 'model-call' }>;

export interface AdmittedModelCall {
  readonly id: string;
  readonly route: ModelRoute;
  readonly key: ApiKey;
  readonly alias: Alias;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly fields: ModelBodyFields;
  readonly estimatedTokens: number;
  readonly allowances: KeyAllowances;
  readonly reservation: CallReservation;
}

export interface AdmittedRead {
  readonly id: string;
  readonly route: ReadRoute;
  readonly key: ApiKey;
  readonly allowances: KeyAllowances;
  readonly reservation: CallReservation;
}

/** A refusal knows as much as had been found out by then. */
export interface Refused {
  readonly outcome: 'refused';
  readonly refusal: Refusal;
  readonly route: Route | null;
  readonly key: ApiKey | null;
  readonly alias: string | null;
  readonly allowances: KeyAllowances | null;
}

export type Admission =
  | { readonly outcome: 'model-call'; readonly call: AdmittedModelCall }
  | { readonly outcome: 'read'; readonly call: AdmittedRead }
  | Refused;

/**
 * Every refusal of the gateway, in its order (G-37): address 429, route 404, key 401, scope 403, body 400 or 413,
 * model 403, key limits 429. The address counts every request; nothing else is consumed by a refused one.
 */
export async function admit(parts: AdmitParts, { request, path, address }: Arrival): Promise<Admission> {
  const counted = await parts.limits.countAddress(address);
  if (counted.outcome === 'refused') {
    return refuse({ name: 'rateLimited', message: ADDRESS_MESSAGE, retryAfterMs: counted.retryAfterMs });
  }
  const route = routeOf(request.method, path);
  if (route === null) {
    return refuse({ name: 'notFound', message: `There is no ${request.method} ${path} here.` });
  }
  const found = await parts.keys.find(bearerToken(request) ?? '');
  if (found.outcome === 'unavailable') {
    return refuse({ name: 'unavailable', message: 'Keys cannot be checked at the moment.' }, { route });
  }
  if (found.outcome === 'unknown') return refuse({ name: 'unauthenticated' }, { route });
  const { key } = found;
  if (!found.scopes.has(route.scope)) {
    const message = `This key lacks the scope ${route.scope}. Mint a key with it.`;
    return refuse({ name: 'scopeDenied', message }, { route, key });
  }
  const id = parts.secrets.newId();
  if (route.kind !== 'model-call') return await admitRead(parts, id, route, key);

  const read = await readCallBody(parts, request);
  if (read.outcome === 'refused') return refuse(read.refusal, { route, key });
  const { bytes, fields } = read;
  const alias = parts.models.find(fields.model);
  const known = { route, key, alias: alias?.alias ?? null };
  if (alias === null || (found.models !== null && !found.models.has(alias.alias))) {
    return refuse({ name: 'modelNotAllowed', param: 'model' }, known);
  }
  if (!route.serves.includes(alias.kind)) {
    const message = `${alias.alias} is a model of the kind ${alias.kind}, which ${path} does not serve.`;
    return refuse({ name: 'invalidRequest', message, param: 'model' }, known);
  }
  const answers = route.endpoint === 'embeddings' ? 0 : fields.maxTokens;
  const estimatedTokens = estimateTokens(bytes.length, answers, fields.choices);
  const limited = await parts.limits.reserve(key, id, estimatedTokens);
  if (limited.outcome === 'refused') return refuseByLimit(limited, known);
  const { allowances, reservation } = limited;
  const call = { id, route, key, alias, bytes, fields, estimatedTokens, allowances, reservation };
  return { outcome: 'model-call', call };
}

const ADDRESS_MESSAGE =
  'Too many requests from this address, which all callers behind it share. Back off and try again.';

async function admitRead(parts: AdmitParts, id: string, route: ReadRoute, key: ApiKey): Promise<Admission> {
  const limited = await parts.limits.reserve(key, id, 0);
  if (limited.outcome === 'refused') return refuseByLimit(limited, { route, key });
  const { allowances, reservation } = limited;
  return { outcome: 'read', call: { id, route, key, allowances, reservation } };
}

type ReadCallBody =
  | { outcome: 'read'; bytes: Uint8Array<ArrayBuffer>; fields: ModelBodyFields }
  | { outcome: 'refused'; refusal: Refusal };

async function readCallBody({ bodyBounds }: AdmitParts, request: Request): Promise<ReadCallBody> {
  const contentType = request.headers.get('content-type');
  if (contentType !== null && !/^application\/([\w.-]+\+)?json\b/i.test(contentType)) {
    return refusedBody({ name: 'invalidRequest', message: 'Send the body as application/json.' });
  }
  const body = await readBody(request, bodyBounds);
  switch (body.outcome) {
    case 'too-large':
      return refusedBody({
        name: 'tooLarge',
        message: `The body is larger than ${bodyBounds.maxBytes} bytes.`,
      });
    case 'too-slow':
      return refusedBody({ name: 'tooSlow' });
    case 'broken':
      return refusedBody({ name: 'invalidRequest', message: 'The body broke off.' });
    case 'read': {
      const read = readModelBody(body.bytes);
      if (read.outcome === 'read') return { outcome: 'read', bytes: body.bytes, fields: read.fields };
      return refusedBody({ name: 'invalidRequest', message: read.message, param: read.param });
    }
  }
}

function refusedBody(refusal: Refusal): ReadCallBody {
  return { outcome: 'refused', refusal };
}

function refuseByLimit(
  limited: Extract<Awaited<ReturnType<Limits['reserve']>>, { outcome: 'refused' }>,
  known: Partial<Refused>,
): Refused {
  const { by, retryAfterMs, allowances } = limited;
  const message = `This key is over its limit of ${by}${by === 'calls in flight' ? '' : ' a minute'}. Back off and try again.`;
  return refuse({ name: 'rateLimited', message, retryAfterMs }, { ...known, allowances });
}

function refuse(refusal: Refusal, known: Partial<Refused> = {}): Refused {
  return { outcome: 'refused', refusal, route: null, key: null, alias: null, allowances: null, ...known };
}
