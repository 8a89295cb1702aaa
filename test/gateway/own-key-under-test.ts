import { percentOfFee } from '../../src/domain/models/byok-fee.ts';
import { updateAlias } from '../../src/domain/models/change-alias.ts';
import { deleteOwnKey, setOwnKey } from '../../src/domain/own-keys/own-keys.ts';
import { until } from '../doubles/until.ts';
import type { GatewayUnderTest } from './gateway-under-test.ts';

const NAME = 'chat-default';
const MODEL = `svc/${NAME}`;

/** What own keys cost of svc/chat-default, and null for not allowed; resolves when the gateway knows. */
export async function allowOwnKeys(gateway: GatewayUnderTest, millionths: number | null): Promise<void> {
  const byokFeePercent = millionths === null ? null : percentOfFee(millionths);
  await updateAlias(gateway.catalogue, { alias: MODEL, byokFeePercent });
  await until(() => (gateway.models.find(MODEL)?.byokFeeMillionths ?? null) === millionths);
}

/** The key that the gateway uses for this company's calls of svc/chat-default; undefined without targets. */
export function keyInUse(gateway: GatewayUnderTest, companyId: string): string | null | undefined {
  const alias = gateway.models.find(MODEL);
  return alias === null ? undefined : gateway.ownKeys.aliasFor(companyId, alias).targets[0]?.apiKey;
}

/** Stores a company's own key for svc/chat-default, at 10 percent; resolves when it is in use, with its removal. */
export async function storeOwnKey(
  gateway: GatewayUnderTest,
  companyId: string,
  apiKey: string,
): Promise<() => Promise<void>> {
  const before = gateway.models.find(MODEL)?.byokFeeMillionths ?? null;
  if (before === null) await allowOwnKeys(gateway, 100_000);
  const { host } = new URL(gateway.upstream.url);
  const parts = { ...gateway.catalogue, ...gateway.parts };
  const set = await setOwnKey(parts, { companyId, alias: NAME, host, apiKey, now: new Date() });
  if (set.outcome !== 'stored') throw new Error(`not stored: ${set.outcome}`);
  await until(() => keyInUse(gateway, companyId) === apiKey);
  return async () => {
    await deleteOwnKey(parts, { companyId, id: set.key.id });
    await until(() => keyInUse(gateway, companyId) !== apiKey);
    if (before === null) await allowOwnKeys(gateway, null);
  };
}
