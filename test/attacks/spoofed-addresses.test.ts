import { expect, test } from 'bun:test';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

const direct = useResource(() => openGateway({ addressRequestsPerMinute: 20 }));
const proxied = useResource(() =>
  openGateway({ addressRequestsPerMinute: 20, trustedProxies: ['127.0.0.1'] }),
);
const body = { model: 'svc/chat-default', messages: [] };

/** The statuses of 40 calls, each of which claims to come from another address. */
async function statusesOf(gateway: typeof direct, headersOf: (turn: number) => Record<string, string>) {
  const { rawKey } = await gateway.mint();
  const statuses: number[] = [];
  for (let turn = 0; turn < 40; turn += 1) {
    const headers = headersOf(turn);
    const answer = await post(`${gateway.url}/chat/completions`, rawKey, body, { headers });
    await answer.text();
    statuses.push(answer.status);
  }
  return statuses;
}

test('G-39 without a configured proxy, addresses that the client sends do not circumvent the limit', async () => {
  const statuses = await statusesOf(direct, (turn) => ({
    'x-forwarded-for': `198.51.100.${turn}`,
    'x-real-ip': `198.51.100.${turn}`,
    'cf-connecting-ip': `198.51.100.${turn}`,
    forwarded: `for=198.51.100.${turn}`,
  }));
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  expect(statuses.filter((status) => status === 429)).toHaveLength(20);
});

test('G-39 behind a proxy only the address that the proxy itself added counts', async () => {
  const statuses = await statusesOf(proxied, (turn) => ({
    'x-forwarded-for': `198.51.100.${turn}, 203.0.113.7`,
  }));
  expect(statuses.filter((status) => status === 429)).toHaveLength(20);
});
