import { BASE_PATH, routeNames } from './routes.ts';

/**
 * The message for an unknown route: that the gateway does not offer that API, which method or route was probably meant,
 * or where all routes are listed.
 */
export function unknownRoute(method: string, path: string): string {
  const shown = path.slice(0, LONGEST_SHOWN);
  const none = `There is no ${method} ${shown} here.`;
  if (path.length > LONGEST_SHOWN) return `${none} ${LISTED}`;
  const tail = tailOf(path);
  const names = routeNames();
  const sameMethod = names.find((name) => name.method === method && name.path === tail);
  if (sameMethod !== undefined) return `${none} Use ${method} ${BASE_PATH}${tail}: ${addressFor(path)}`;
  const sameTail = names.filter((name) => name.path === tail);
  if (sameTail.length > 0) {
    return `${none} Use ${sameTail.map((name) => `${name.method} ${BASE_PATH}${tail}`).join(' or ')}.`;
  }
  const unsupported = unsupportedAt(tail);
  if (unsupported !== null) return `${none} This gateway does not support ${unsupported}. ${LISTED}`;
  const nearest = nearestOf(method, tail, names);
  if (nearest !== null) return `${none} Did you mean ${nearest.method} ${BASE_PATH}${nearest.path}?`;
  return `${none} ${LISTED}`;
}

interface RouteName {
  readonly method: string;
  readonly path: string;
}

/** Longer paths are not compared: the request has no verified key yet. */
const LONGEST_SHOWN = 100;
const LISTED = 'GET /docs lists the routes.';

/** Clients of Messages, and those that repeat /v1, add it to their base address themselves. */
function addressFor(path: string): string {
  const addsVersion = /\/v1\/+(?:v1|messages)(?:\/|$)/.test(path);
  const base = addsVersion ? BASE_PATH.replace('/v1', '') : BASE_PATH;
  const why = addsVersion ? ', because it adds /v1 itself' : '';
  return `set the base address of your client to end with ${base}${why}.`;
}

/** APIs of other services that we do not offer, by the beginning of their routes. The longest match is named. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  '/api': 'Ollama’s own API (/api)',
  '/assistants': 'the Assistants API (/assistants)',
  '/audio': 'the Audio API (/audio)',
  '/batches': 'the Batch API (/batches)',
  '/chat/completions/': 'stored chat completions (/chat/completions/{id})',
  '/chatkit': 'ChatKit (/chatkit)',
  '/complete': 'Anthropic’s text completions (/complete)',
  '/containers': 'the Containers API (/containers)',
  '/conversations': 'the Conversations API (/conversations): use previous_response_id',
  '/deployments': 'Azure’s deployment paths (/deployments)',
  '/edits': 'the Edits API (/edits)',
  '/engines': 'the Engines API (/engines)',
  '/evals': 'the Evals API (/evals)',
  '/files': 'the Files API (/files)',
  '/fine-tunes': 'the Fine-tuning API (/fine-tunes)',
  '/fine_tuning': 'the Fine-tuning API (/fine_tuning)',
  '/generate': 'text generation by /generate',
  '/images': 'the Images API (/images)',
  '/messages/batches': 'the Message Batches API (/messages/batches)',
  '/moderations': 'the Moderations API (/moderations)',
  '/organization': 'the Administration API (/organization)',
  '/organizations': 'the Admin API (/organizations)',
  '/realtime': 'the Realtime API (/realtime)',
  '/rerank': 'reranking (/rerank)',
  '/responses/': 'other routes of Responses, such as those of background ones (/responses/{id}/cancel)',
  '/skills': 'the Skills API (/skills)',
  '/threads': 'the Threads API (/threads)',
  '/uploads': 'the Uploads API (/uploads)',
  '/v1beta': 'Gemini’s own API (/v1beta)',
  '/vector_stores': 'the Vector Stores API (/vector_stores)',
  '/videos': 'the Videos API (/videos)',
};

function unsupportedAt(tail: string): string | null {
  const fits = Object.keys(UNSUPPORTED).filter(
    (start) => tail === start || tail.startsWith(start.endsWith('/') ? start : `${start}/`),
  );
  const [longest] = fits.sort((one, other) => other.length - one.length);
  return longest === undefined ? null : (UNSUPPORTED[longest] ?? null);
}

/**
 * Base URLs that clients are often configured with by mistake: with a second /v1, without /llm, with a trailing slash.
 */
const PREFIX = /^\/(?:llm\/|openai\/|api\/(?=v1\/))*(?:v1\/)*/;

function tailOf(path: string): string {
  const clean = path.replaceAll(/\/{2,}/g, '/');
  const tail = `/${clean.replace(PREFIX, '')}`;
  return tail.length > 1 && tail.endsWith('/') ? tail.slice(0, -1) : tail;
}

/** The route with the smallest edit distance, if that is small; with the same method if possible. */
function nearestOf(method: string, tail: string, names: readonly RouteName[]): RouteName | null {
  let nearest: RouteName | null = null;
  let least = Math.max(2, Math.floor(tail.length / 3)) + 1;
  for (const name of names) {
    const away = lettersApart(tail, name.path) + (name.method === method ? 0 : 0.5);
    if (away >= least) continue;
    least = away;
    nearest = name;
  }
  return nearest;
}

function lettersApart(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const change = (row[to - 1] as number) + (one[at - 1] === other[to - 1] ? 0 : 1);
      next.push(Math.min(change, (row[to] as number) + 1, (next[to - 1] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
