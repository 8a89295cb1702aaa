import type { Alias } from '../../domain/models/aliases.ts';
import { fallbacksOf, mayServe } from '../../domain/models/routing/fallbacks.ts';
import type { ModelBodyFields } from '../json/request-body.ts';
import { aliasOfCompany, type CompanyAliasParts, ownKeyRefusal } from './own-keys.ts';
import type { ParseFields } from './read-parse-body.ts';
import type { Refusal } from './refusals.ts';

interface FirstChoice {
  readonly key: { readonly companyId: string };
  readonly alias: Alias;
  readonly fields: ModelBodyFields | ParseFields;
  /** The key's allowlist; null allows all aliases. */
  readonly allowed: ReadonlySet<string> | null;
}

type FallbackAliases = readonly Alias[] | { readonly refusal: Refusal };

const NONE: readonly Alias[] = [];

/**
 * The fallback aliases that the key may call: those of the body's own list, which is refused if it has any other, or
 * otherwise those that the operator has set.
 */
export function fallbackAliases(parts: CompanyAliasParts, choice: FirstChoice): FallbackAliases {
  const { key, alias: first, fields, allowed } = choice;
  const unusable = ownKeyRefusal(first);
  if (unusable !== null) return { refusal: unusable };
  const names = 'models' in fields ? fields.models : null;
  if (names === null) {
    if (first.routing == null) return NONE;
    const set = fallbacksOf({ find: (name) => aliasOfCompany(parts, key.companyId, name) }, first);
    return allowed === null ? set : set.filter((other) => allowed.has(other.alias));
  }
  const found: Alias[] = [];
  for (const name of names) {
    const alias = aliasOfCompany(parts, key.companyId, name);
    if (alias === null || (allowed !== null && !allowed.has(alias.alias))) {
      return { refusal: { name: 'modelNotAllowed', param: 'models' } };
    }
    if (alias.kind !== first.kind) {
      const message = `'models' has models of one kind: ${alias.alias} is of the kind ${alias.kind}, ${first.alias} of the kind ${first.kind}.`;
      return { refusal: { name: 'invalidRequest', message, param: 'models' } };
    }
    if (mayServe(first, alias)) found.push(alias);
  }
  return found;
}

/** A call that needs something of its provider, an earlier response or a hosted tool, stays with the first alias. */
export function usableFallbacks(
  fallbacks: readonly Alias[] | undefined,
  isContinued: boolean,
  fields: ModelBodyFields | ParseFields,
): readonly Alias[] | undefined {
  const isHosted = 'hosted' in fields && fields.hosted !== null;
  return isContinued || isHosted || fallbacks?.length === 0 ? undefined : fallbacks;
}
