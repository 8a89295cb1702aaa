import type { ApiKey } from '../domain/keys/api-key.ts';
import type { Alias } from '../domain/models/aliases.ts';
import type { ModelDirectory } from '../domain/models/model-directory.ts';
import type { AdmittedRead } from './admit.ts';
import { answerJobs } from './jobs-listing.ts';
import { refusalResponse } from './refusals.ts';
import { answerUsage, type UsageParts } from './usage-answer.ts';

export interface ReadParts extends UsageParts {
  readonly models: ModelDirectory;
}

/** Aliases are older than any key; clients only want a number here. */
const CREATED = Date.UTC(2026, 0, 1) / 1000;

/** Whatever costs nothing. `url` is the whole address, for what stands behind the question mark. */
export async function answerRead(
  parts: ReadParts,
  call: AdmittedRead,
  { url, headers }: { readonly url: string; readonly headers: Record<string, string> },
): Promise<Response> {
  const { kind } = call.route;
  if (kind !== 'usage' && kind !== 'jobs') return answerListing(parts.models, call, headers);
  const search = searchOf(url);
  const answered =
    kind === 'jobs'
      ? await answerJobs(parts.database, call.key.companyId, search)
      : await answerUsage(parts, call, search);
  if (answered.outcome === 'refused') return refusalResponse(answered.refusal, headers);
  // It is about this moment.
  return Response.json(answered.body, { headers: { ...headers, 'cache-control': 'no-store' } });
}

/** G-4: exactly the aliases that this key may call. */
function answerListing(
  models: ModelDirectory,
  { route, key }: AdmittedRead,
  headers: Readonly<Record<string, string>>,
): Response {
  const allowed = models.all().filter((alias) => mayCall(key, alias));
  if (route.kind === 'list-models') {
    return Response.json({ object: 'list', data: allowed.map(shown) }, { headers });
  }
  const one = route.kind === 'one-model' ? allowed.find(({ alias }) => alias === route.alias) : undefined;
  if (one !== undefined) return Response.json(shown(one), { headers });
  return refusalResponse({ name: 'modelNotAllowed', param: 'model' }, headers);
}

function mayCall(key: ApiKey, { alias }: Alias): boolean {
  return key.models === null || key.models.includes(alias);
}

function shown({ alias }: Alias) {
  return { id: alias, object: 'model', created: CREATED, owned_by: alias.split('/')[0] };
}

function searchOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start + 1));
}
