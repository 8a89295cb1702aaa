import { expect, test } from 'bun:test';
import { openGateway, PROVIDER_MODEL, post } from '../gateway/gateway-under-test.ts';
import { chatAnswer, chunk, done, streamOf, usageChunk } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const gateway = useResource(() => openGateway());
const TELLING = {
  server: 'provider.example',
  'openai-organization': 'org-provider',
  'x-provider-host': 'provider.example',
  'set-cookie': 'session=provider.example',
  'cf-ray': 'provider.example',
  via: '1.1 provider.example',
};

test('G-16 neither body, stream, error nor header of an answer names the provider', async () => {
  const { rawKey } = await gateway.mint();
  const { host } = new URL(gateway.upstream.url);
  const names = [PROVIDER_MODEL, host, 'sk-provider', 'provider.example', 'org-provider'];
  const whole = chatAnswer();
  const spoken = chunk('Hello.');
  const refused = {
    error: { message: `The model ${PROVIDER_MODEL} at ${host} is overloaded for sk-provider`, type: 'x' },
  };
  const answers: (() => Response)[] = [
    () => Response.json(whole, { headers: TELLING }),
    () =>
      new Response(streamOf(spoken, usageChunk, done).body, {
        headers: { ...TELLING, 'content-type': 'text/event-stream' },
      }),
    () => Response.json(refused, { status: 400, headers: TELLING }),
    () => Response.json(refused, { status: 401, headers: TELLING }),
    () => Response.json(refused, { status: 429, headers: TELLING }),
    () => Response.json(refused, { status: 500, headers: TELLING }),
    () => new Response(`nginx at ${host}`, { status: 502, headers: TELLING }),
  ];
  for (const [index, script] of answers.entries()) {
    gateway.upstream.answer(script);
    const answer = await post(`${gateway.url}/chat/completions`, rawKey, {
      model: 'svc/chat-default',
      messages: [],
      stream: index === 1,
    });
    const text = JSON.stringify([...answer.headers]) + (await answer.text());
    expect([index, names.filter((name) => text.includes(name))]).toEqual([index, []]);
  }
});
