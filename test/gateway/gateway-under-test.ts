import { expect } from 'bun:test';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createHttpUpstream } from '../../src/adapters/model-upstream/http.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { createCallBook } from '../../src/domain/calls/settle-call.ts';
import { createKeyDirectory } from '../../src/domain/keys/key-directory.ts';
import { type KeyToMint, mintKey } from '../../src/domain/keys/mint-key.ts';
import { createLimits } from '../../src/domain/limits/limits.ts';
import { setAliasTargets } from '../../src/domain/models/change-targets.ts';
import { createCipher } from '../../src/domain/models/cipher.ts';
import { createModelDirectory } from '../../src/domain/models/model-directory.ts';
import { createGateway } from '../../src/gateway/server.ts';
import { createUnpaidEndings } from '../../src/gateway/unpaid-endings.ts';
import { createClientAddress } from '../../src/http/client-address.ts';
import { listen } from '../../src/http/listen.ts';
import type { Database, Row } from '../../src/ports/database.ts';
import { openMemoryDatabase } from '../doubles/memory-database.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { until } from '../doubles/until.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';

export const PROVIDER_MODEL = 'provider-model-x';

export interface GatewayOptions {
  readonly addressRequestsPerMinute?: number;
  readonly trustedProxies?: readonly string[];
  readonly idleTimeoutMs?: number;
  readonly firstByteTimeoutMs?: number;
  readonly maxBodyBytes?: number;
  readonly bodyTimeoutMs?: number;
  readonly embeddedAllowed?: boolean;
}

/** The whole gateway over real sockets, on a database in memory, in front of an upstream that a test scripts. */
export async function openGateway(options: GatewayOptions = {}) {
  const clock = createSystemClock();
  const secrets = createSystemSecrets();
  const { log, entries } = createRecordingLog();
  const real = await openMemoryDatabase();
  const outage = { isAway: false };
  const database = breakable(real, outage);
  const sharedState = createInProcessState({ clock, log });
  const cipher = createCipher({ masterKey: 'a master key of sufficient length', secrets });
  const catalogue = { database, sharedState, secrets, cipher, log, prefix: 'svc' };
  const models = await createModelDirectory({
    ...catalogue,
    clock,
    embeddedAllowed: options.embeddedAllowed ?? false,
  });
  const keys = await createKeyDirectory({ database, sharedState, clock, secrets, log });
  const calls = createCallBook({ database, clock, log });
  const { addressRequestsPerMinute = 0 } = options;
  const ownState = createInProcessState({ clock, log });
  const maxBodyBytes = options.maxBodyBytes ?? 1024 * 1024;
  const app = createGateway({
    clock,
    log,
    secrets,
    models,
    keys,
    calls,
    limits: createLimits({ sharedState, ownState, clock, log, addressRequestsPerMinute }),
    upstream: createHttpUpstream({ clock, log, firstByteTimeoutMs: options.firstByteTimeoutMs ?? 5_000 }),
    unpaidEndings: createUnpaidEndings({ clock, log }),
    clientAddress: createClientAddress(options.trustedProxies ?? []),
    idleTimeoutMs: options.idleTimeoutMs ?? 5_000,
    bodyTimeoutMs: options.bodyTimeoutMs ?? 5_000,
    maxBodyBytes,
    dependencies: async () => ({}),
  });
  const network = { hostname: '127.0.0.1', port: 0, reusePort: false };
  const listening = listen({ name: 'gateway', fetch: app.fetch, ...network, maxBodyBytes, clock, log });
  const upstream = startScriptedUpstream();
  const company = { id: secrets.newId(), name: 'Acme', billingMode: 'PREPAID' } as const;
  await addCompany(database, company);

  async function aimAt(alias: string, ...targets: readonly ScriptedUpstream[]): Promise<void> {
    const wanted = targets.map(({ url }) => ({
      baseUrl: url,
      model: PROVIDER_MODEL,
      apiKey: 'sk-provider',
      weight: 1,
    }));
    await setAliasTargets(catalogue, alias, wanted);
    await until(() => models.find(alias)?.targets.length === targets.length);
  }
  for (const alias of ['svc/chat-default', 'svc/extract-default', 'svc/embed-default']) {
    await aimAt(alias, upstream);
  }

  return {
    url: `${listening.url}/llm/v1`,
    upstream,
    aimAt,
    entries,
    companyId: company.id,
    outage,
    async mint(changes: Partial<KeyToMint> = {}): Promise<{ rawKey: string; id: string }> {
      const wanted = { companyId: company.id, createdBy: null, name: 'test', ...changes };
      const minted = await mintKey({ database, secrets, clock }, wanted as KeyToMint);
      if (minted.outcome !== 'minted') throw new Error(`not minted: ${JSON.stringify(minted)}`);
      return { rawKey: minted.rawKey, id: minted.key.id };
    },
    /** The rows of this key's calls, oldest first, once there are so many. */
    async calls(keyId: string, count: number): Promise<Row[]> {
      let rows: Row[] = [];
      await until(async () => {
        rows = await real.query('select * from calls where key_id = $1 order by started_at, id', [keyId]);
        return rows.length >= count;
      });
      return rows;
    },
    parts: { database, sharedState, secrets, clock },
    async close(): Promise<void> {
      await listening.drain(0);
      upstream.close();
      await Promise.all([models.close(), keys.close(), calls.close()]);
      await real.close();
    },
  };
}

export type GatewayUnderTest = Awaited<ReturnType<typeof openGateway>>;

export function post(url: string, rawKey: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const headers = { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json', ...init.headers };
  return fetch(url, { ...init, method: 'POST', headers, body: text as BodyInit });
}

/** The envelope of a refusal, which has exactly these four fields (G-34). */
export async function refusalOf(response: Response | Promise<Response>) {
  const answered = await response;
  const { error } = (await answered.json()) as { error: Record<string, unknown> };
  expect(Object.keys(error).sort()).toEqual(['code', 'message', 'param', 'type']);
  return {
    status: answered.status,
    type: error.type,
    code: error.code,
    param: error.param,
    headers: answered.headers,
    message: error.message,
  };
}

function breakable(real: Database, outage: { isAway: boolean }): Database {
  const away = () =>
    Object.assign(new Error('away'), { name: 'DatabaseFailure', reason: 'unavailable', sqlState: null });
  return {
    ...real,
    query: (text, values) => (outage.isAway ? Promise.reject(away()) : real.query(text, values)),
    transaction: (work, more) => (outage.isAway ? Promise.reject(away()) : real.transaction(work, more)),
  };
}
