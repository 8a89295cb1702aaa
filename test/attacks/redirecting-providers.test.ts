import { expect, test } from 'bun:test';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { startScriptedUpstream } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const gateway = useResource(() => openGateway());
const thief = useResource(() => startScriptedUpstream());

test('G-36 a provider that redirects our call gets neither the call nor the key sent elsewhere', async () => {
  const { rawKey } = await gateway.mint();
  for (const status of [301, 302, 303, 307, 308]) {
    for (const stream of [false, true]) {
      const location = `${thief.url}/chat/completions`;
      gateway.upstream.answer(
        () => new Response(null, { status, headers: { location, refresh: `0; ${location}` } }),
      );
      const answer = await post(`${gateway.url}/chat/completions`, rawKey, {
        model: 'svc/chat-default',
        messages: [],
        stream,
      });
      expect([status, answer.status]).toEqual([status, 503]);
      expect(answer.headers.get('location')).toBeNull();
      expect(await answer.text()).not.toContain(thief.url);
    }
  }
  expect(thief.received).toEqual([]);
});
