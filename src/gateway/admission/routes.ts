import type { ParseKind } from '../../domain/documents/document-engine.ts';
import type { Scope } from '../../domain/keys/api-key.ts';
import type { AliasKind } from '../../domain/models/aliases.ts';
import type { ModelEndpoint } from '../../ports/model-upstream.ts';
import type { ClientWire } from '../json/client-wire.ts';

export const BASE_PATH = '/llm/v1';
/** Not in the table below: its tools call routes that are. */
export const MCP_PATH = `${BASE_PATH}/mcp`;

/** A route, with the scope that it requires. */
export type Route =
  | {
      readonly kind: 'model-call';
      readonly endpoint: ModelEndpoint;
      readonly wire: ClientWire;
      readonly scope: Scope;
      readonly serves: readonly AliasKind[];
    }
  | {
      readonly kind: 'parse';
      readonly endpoint: 'parse/cv' | 'parse/jd';
      readonly scope: Scope;
      readonly serves: readonly AliasKind[];
      readonly parses: ParseKind;
    }
  | { readonly kind: 'list-models'; readonly endpoint: 'models'; readonly scope: Scope }
  | {
      readonly kind: 'one-model';
      readonly endpoint: 'models';
      readonly scope: Scope;
      readonly alias: string;
    }
  | {
      readonly kind: 'stored-response';
      readonly endpoint: 'responses';
      readonly scope: Scope;
      readonly id: string;
      readonly action: 'read' | 'delete' | 'input-items';
    }
  | { readonly kind: 'usage'; readonly endpoint: 'usage'; readonly scope: Scope }
  | { readonly kind: 'calls'; readonly endpoint: 'usage/calls'; readonly scope: Scope }
  | { readonly kind: 'jobs'; readonly endpoint: 'jobs'; readonly scope: Scope };

const TEXT_KINDS: readonly AliasKind[] = ['chat', 'extract'];
const chat = 'inference:chat';

const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['POST /chat/completions', modelRoute('chat/completions', 'completions', TEXT_KINDS)],
  ['POST /completions', modelRoute('completions', 'completions', TEXT_KINDS)],
  ['POST /embeddings', modelRoute('embeddings', 'completions', ['embed'])],
  ['POST /responses', modelRoute('responses', 'responses', TEXT_KINDS)],
  ['POST /responses/input_tokens', modelRoute('responses/input_tokens', 'responses', TEXT_KINDS)],
  ['POST /responses/compact', modelRoute('responses/compact', 'responses', TEXT_KINDS)],
  ['POST /messages', modelRoute('messages', 'messages', TEXT_KINDS)],
  ['POST /messages/count_tokens', modelRoute('messages/count_tokens', 'messages', TEXT_KINDS)],
  ['POST /parse/cv', parseRoute('parse/cv', 'cv')],
  ['POST /parse/jd', parseRoute('parse/jd', 'jd')],
  ['GET /models', { kind: 'list-models', endpoint: 'models', scope: chat }],
  ['GET /usage', { kind: 'usage', endpoint: 'usage', scope: 'usage:read' }],
  ['GET /usage/calls', { kind: 'calls', endpoint: 'usage/calls', scope: 'usage:read' }],
  ['GET /jobs', { kind: 'jobs', endpoint: 'jobs', scope: 'jobs:read' }],
]);

function modelRoute(endpoint: ModelEndpoint, wire: ClientWire, serves: readonly AliasKind[]): Route {
  return { kind: 'model-call', endpoint, wire, scope: chat, serves };
}

function parseRoute(endpoint: 'parse/cv' | 'parse/jd', parses: ParseKind): Route {
  return { kind: 'parse', endpoint, scope: 'inference:parse', serves: ['extract'], parses };
}

const MESSAGES = `${BASE_PATH}/messages`;
const MODELS = `${BASE_PATH}/models`;

/**
 * The wire format that a path is answered in, even if it is no route: Anthropic's for everything below `/messages`, and for
 * `/models`, which both wire formats have, if the client sends `anthropic-version`.
 */
export function wireOfPath(path: string, headers?: Headers): ClientWire {
  if (path.startsWith(MESSAGES)) return 'messages';
  return path.startsWith(MODELS) && headers?.has('anthropic-version') === true ? 'messages' : 'completions';
}

const ONE_MODEL = '/models/';
const RESPONSES = '/responses/';

/** Null for an unknown route, and for a wrong method on a known one (G-10). HEAD is answered as GET, without the body. */
export function routeOf(named: string, path: string): Route | null {
  if (!path.startsWith(BASE_PATH)) return null;
  const method = named === 'HEAD' ? 'GET' : named;
  const rest = path.slice(BASE_PATH.length);
  const route = ROUTES.get(`${method} ${rest}`);
  if (route !== undefined) return route;
  if (rest.startsWith(RESPONSES)) return storedResponseRoute(method, rest.slice(RESPONSES.length));
  if (method !== 'GET' || !rest.startsWith(ONE_MODEL) || rest.length > 200) return null;
  // An alias contains a slash, which a client may or may not encode (G-4).
  const alias = decoded(rest.slice(ONE_MODEL.length));
  return alias === null || alias === ''
    ? null
    : { kind: 'one-model', endpoint: 'models', scope: chat, alias };
}

/** The path of a route with placeholders; null for an unknown route. */
export function routeTemplate(method: string, path: string): string | null {
  const route = routeOf(method, path);
  if (route?.kind === 'one-model') return `${BASE_PATH}${ONE_MODEL}{model}`;
  if (route?.kind !== 'stored-response') return route === null ? null : path;
  return `${BASE_PATH}${RESPONSES}{id}${route.action === 'input-items' ? '/input_items' : ''}`;
}

/** Every route, for the message about an unknown one. */
export function routeNames(): readonly { readonly method: string; readonly path: string }[] {
  return [...ROUTES.keys(), `POST ${MCP_PATH.slice(BASE_PATH.length)}`].map((name) => {
    const [method = '', path = ''] = name.split(' ');
    return { method, path };
  });
}

function storedResponseRoute(method: string, rest: string): Route | null {
  const [, id, below] = /^([\w-]{1,200})(\/input_items)?$/.exec(rest) ?? [];
  // Not the id of a response, but a route of another method, which the error message suggests.
  if (id === undefined || ROUTES.has(`POST ${RESPONSES}${id}`)) return null;
  if (method !== 'GET' && (method !== 'DELETE' || below !== undefined)) return null;
  const action = method === 'DELETE' ? 'delete' : below === undefined ? 'read' : 'input-items';
  return { kind: 'stored-response', endpoint: 'responses', scope: chat, id, action };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
