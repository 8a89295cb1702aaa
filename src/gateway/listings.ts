import type { ApiKey } from '../domain/keys/api-key.ts';
import type { Alias } from '../domain/models/aliases.ts';
import type { ModelDirectory } from '../domain/models/model-directory.ts';
import type { AdmittedRead } from './admit.ts';
import { refusalResponse } from './refusals.ts';

/** Aliases are older than any key; clients only want a number here. */
const CREATED = Date.UTC(2026, 0, 1) / 1000;

/** G-4: exactly the aliases that this key may call. */
export function answerListing(
  models: ModelDirectory,
  { route, key }: AdmittedRead,
  headers: Readonly<Record<string, string>>,
): Response {
  const allowed = models.all().filter((alias) => mayCall(key, alias));
  if (route.kind === 'list-models') {
    return Response.json({ object: 'list', data: allowed.map(shown) }, { headers });
  }
  const one = allowed.find(({ alias }) => alias === route.alias);
  if (one !== undefined) return Response.json(shown(one), { headers });
  return refusalResponse({ name: 'modelNotAllowed', param: 'model' }, headers);
}

function mayCall(key: ApiKey, { alias }: Alias): boolean {
  return key.models === null || key.models.includes(alias);
}

function shown({ alias }: Alias) {
  return { id: alias, object: 'model', created: CREATED, owned_by: alias.split('/')[0] };
}
