import { describe, expect, test } from 'bun:test';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { AI_SERVICE_ROUTES } from '../../src/ai-service/api-docs.ts';
import { metricsAccess, type SecretsInUse } from '../../src/start/settings/secrets.ts';
import { withMetrics } from '../../src/start/wiring/open-server.ts';
import { openAiService, SERVICE, TOKEN } from '../ai-service/ai-service-under-test.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { useResource } from '../setup/use-resource.ts';

const PROCESS = { clock: createSystemClock(), secrets: createSystemSecrets(), log: createSilentLog() };
const METRICS = 'a-metrics-token-of-some-length';

function secretsWith(changes: Partial<SecretsInUse>): SecretsInUse {
  const none = { jwtSecret: null, masterKey: null, webhookSecret: null, demoSeed: null };
  return { ...none, internalToken: TOKEN, metricsToken: null, ...changes };
}

describe('the token of the metrics collector', () => {
  const service = useResource(() =>
    openAiService({ metricsAccess: metricsAccess(secretsWith({ metricsToken: METRICS })) }),
  );

  test('opens /metrics and no other internal route, and the internal token no longer opens /metrics', async () => {
    expect((await service.ask('/metrics', { token: METRICS })).status).toBe(200);
    const refused = await service.ask('/metrics', { token: TOKEN });
    expect([refused.status, refused.body.error.message]).toEqual([
      401,
      'Metrics need "Authorization: Bearer <token>": the token is the METRICS_TOKEN setting.',
    ]);
    const internal = AI_SERVICE_ROUTES.filter(({ needsToken, path }) => needsToken && path !== '/metrics');
    expect(internal.length).toBeGreaterThan(10);
    for (const { method, path } of internal) {
      const asked = { method: method.toUpperCase(), token: METRICS };
      const body = method === 'post' ? { body: {} } : {};
      const { status } = await service.ask(path.replace('{id}', 'x'), { ...asked, ...body });
      expect([path, status]).toEqual([path, 401]);
    }
  });

  test('is required by the gateway and the backend too', async () => {
    const passedOn = async () => new Response('passed on', { status: 404 });
    const answers = async (own: Partial<SecretsInUse>, token: string) => {
      const opening = { ...PROCESS, ownSecrets: secretsWith(own), metrics: service.metrics };
      const fetch = withMetrics(opening, passedOn);
      const headers = { authorization: `Bearer ${token}` };
      const connection = { peerAddress: '127.0.0.1' } as Parameters<typeof fetch>[1];
      const answer = await fetch(new Request('http://gateway.test/metrics', { headers }), connection);
      if (answer.status !== 404) expect(answer.headers.get('x-request-id')).toStartWith('req_');
      return answer.status;
    };
    expect(await answers({}, TOKEN)).toBe(200);
    expect(await answers({ metricsToken: METRICS }, METRICS)).toBe(200);
    expect(await answers({ metricsToken: METRICS }, TOKEN)).toBe(401);
    expect(await answers({ internalToken: null, metricsToken: METRICS }, METRICS)).toBe(200);
    expect(await answers({ internalToken: null }, '')).toBe(404);
    const none = { jwtSecret: null, internalToken: null, masterKey: null, webhookSecret: null };
    const also = { ...none, metricsToken: 'next' };
    expect(await answers({ metricsToken: METRICS, also }, 'next')).toBe(200);
  });
});

describe('an anonymous request for readiness', () => {
  const service = useResource(() => openAiService());

  test('gets the number of providers and their state, and no host', async () => {
    const first = 'a-provider.example:8443';
    service.breakers.known(first);
    for (const token of ['', 'wrong', METRICS]) {
      const { text, body } = await service.ask('/health/ready', { token });
      expect(body.components.circuit_breakers).toEqual({ 'service-1': 'closed', 'service-2': 'closed' });
      for (const host of [SERVICE, 'provider', '8443']) expect(text).not.toContain(host);
    }
    const { body } = await service.ask('/health/ready', { token: TOKEN });
    expect(body.components.circuit_breakers).toEqual({ [first]: 'closed', [SERVICE]: 'closed' });
  });
});
