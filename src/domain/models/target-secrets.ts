import type { Secrets } from '../../ports/secrets.ts';
import type { AliasName } from './aliases.ts';
import type { Cipher } from './cipher.ts';
import { providerFacts, type StoredTarget, type TargetParams } from './target.ts';
import { checkPrice } from './token-price.ts';

/** A target's key and headers, as sent to its provider. */
interface TargetSecrets {
  readonly apiKey: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

type SealedTargets =
  | { readonly outcome: 'sealed'; readonly targets: readonly StoredTarget[] }
  /** `place` is the field with the problem, for example `0.apiKey`; null if the problem is the target as a whole. */
  | { readonly outcome: 'wrong'; readonly problem: string; readonly place: string | null };

/**
 * Encrypts the secrets of the targets. A target that names a stored one by its id inherits that one's key and headers
 * if it has none, but only at the same origin: a key is never sent to an address that it was not entered for. It keeps
 * the id if address, model and provider are the same; a changed target gets a new id and starts without the old one's
 * state.
 */
export async function sealTargets(
  { cipher, secrets }: { readonly cipher: Cipher; readonly secrets: Pick<Secrets, 'newId'> },
  alias: AliasName,
  params: readonly TargetParams[],
  stored: readonly StoredTarget[],
): Promise<SealedTargets> {
  const targets: StoredTarget[] = [];
  for (const [at, target] of params.entries()) {
    const { baseUrl, model } = target;
    const before = target.id == null ? null : (stored.find(({ id }) => id === target.id) ?? 'unknown');
    if (before === 'unknown' || targets.some(({ id }) => id === target.id)) {
      return wrong(at, 'the alias has no such target any more: load its targets again');
    }
    const storedSecrets = await keptSecrets(cipher, target, before);
    if (typeof storedSecrets === 'string') return wrong(at, storedSecrets, 'apiKey');
    const { provider } = providerFacts(target);
    const isSame =
      before?.baseUrl === baseUrl && before.model === model && (before.provider ?? null) === provider;
    const limits = keptLimits(target, before);
    if (typeof limits === 'string') return wrong(at, limits, 'cost');
    targets.push({
      id: isSame ? before.id : secrets.newId(),
      ...{ alias, baseUrl, model, provider, weight: target.weight ?? before?.weight ?? 1 },
      ...keptWire(target, before?.provider === provider ? before : null),
      ...limits,
      ...(await sealTargetSecrets(cipher, baseUrl, storedSecrets)),
    });
  }
  return { outcome: 'sealed', targets };
}

/** Omitted values are taken from the stored target if its provider is the same. */
function keptWire(
  { responses, apiVersion }: TargetParams,
  before: StoredTarget | null,
): Pick<StoredTarget, 'responses' | 'apiVersion'> {
  return {
    responses: responses === undefined ? (before?.responses ?? null) : responses,
    apiVersion: apiVersion === undefined ? (before?.apiVersion ?? null) : apiVersion,
  };
}

/** The problem, or the limits and the cost that the target will have. */
function keptLimits(
  { timeoutMs, idleTimeoutMs, maxInFlight, cost }: TargetParams,
  before: StoredTarget | null,
): Pick<StoredTarget, 'timeoutMs' | 'idleTimeoutMs' | 'maxInFlight' | 'cost'> | string {
  const priced = cost == null ? null : checkPrice(cost);
  if (priced?.outcome === 'wrong') return priced.problem;
  return {
    timeoutMs: timeoutMs === undefined ? (before?.timeoutMs ?? null) : timeoutMs,
    idleTimeoutMs: idleTimeoutMs === undefined ? (before?.idleTimeoutMs ?? null) : idleTimeoutMs,
    maxInFlight: maxInFlight === undefined ? (before?.maxInFlight ?? null) : maxInFlight,
    cost: cost === undefined ? (before?.cost ?? null) : (priced?.price ?? null),
  };
}

/** The problem, or the secrets that the target will have. */
async function keptSecrets(
  cipher: Cipher,
  { baseUrl, apiKey, headers, removesKey = false }: TargetParams,
  before: StoredTarget | null,
): Promise<TargetSecrets | string> {
  const needsKey = apiKey === null && !removesKey && before?.sealedKey != null;
  const needsHeaders = headers === undefined && before?.sealedHeaders != null;
  if (before === null || !(needsKey || needsHeaders)) return { apiKey, headers: headers ?? {} };
  if (new URL(before.baseUrl).origin !== new URL(baseUrl).origin) {
    return 'its address has another host now: enter the key and the headers again';
  }
  const opened = await openTargetSecrets(cipher, before).catch(() => null);
  if (opened === null) return 'its stored key cannot be decrypted with MASTER_KEY: enter it again';
  return { apiKey: needsKey ? opened.apiKey : apiKey, headers: headers ?? opened.headers };
}

/** Rejects with a CipherFailure. */
export async function openTargetSecrets(
  cipher: Cipher,
  { baseUrl, sealedKey, sealedHeaders }: Pick<StoredTarget, 'baseUrl' | 'sealedKey' | 'sealedHeaders'>,
): Promise<TargetSecrets> {
  const apiKey = sealedKey === null ? null : await cipher.decrypt(sealedKey, baseUrl);
  const headers = sealedHeaders === null ? '{}' : await cipher.decrypt(sealedHeaders, headersOf(baseUrl));
  return { apiKey, headers: JSON.parse(headers) as Readonly<Record<string, string>> };
}

export async function sealTargetSecrets(
  cipher: Cipher,
  baseUrl: string,
  { apiKey, headers }: TargetSecrets,
): Promise<Pick<StoredTarget, 'sealedKey' | 'sealedHeaders'>> {
  const hasHeaders = Object.keys(headers).length > 0;
  return {
    sealedKey: apiKey === null ? null : await cipher.encrypt(apiKey, baseUrl),
    sealedHeaders: hasHeaders ? await cipher.encrypt(JSON.stringify(headers), headersOf(baseUrl)) : null,
  };
}

/** Prevents an encrypted key from being used as headers, and vice versa. */
function headersOf(baseUrl: string): string {
  return `headers of ${baseUrl}`;
}

function wrong(at: number, problem: string, field: keyof TargetParams | null = null): SealedTargets {
  const place = field === null ? null : `${at}.${field}`;
  return { outcome: 'wrong', problem: `target ${at + 1}: ${problem}`, place };
}
