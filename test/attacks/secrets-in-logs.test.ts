import { expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { useSystem } from '../setup/use-system.ts';

const PROMPT = 'prompt-marker-7f3a91';
const CV =
  'Ada Markerson-5521\nada.marker5521@example.org\nEngineer, Analytical Engines Ltd, 2020 - 2023\nSkills: Python';
const PASSWORD = 'password-marker-0d1e-Zq';
const running = useSystem({ LOG_LEVEL: 'debug' });

test('secrets, prompts and CV texts sent to every service, in valid and invalid requests, are in no log entry', async () => {
  const { demo, system } = running;
  const json = { 'content-type': 'application/json' };
  const send = (url: string, body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: 'POST', body, headers: { ...json, ...headers } }).then((answer) => answer.text());
  const withKey = { authorization: `Bearer ${demo.full_key}` };
  const chat = JSON.stringify({ model: 'svc/chat-default', messages: [{ role: 'user', content: PROMPT }] });
  const login = (password: string) =>
    JSON.stringify({
      query: `mutation { login(email: "${demo.company_admin.email}", password: "${password}") { accessToken refreshToken } }`,
    });
  const wrongKey = `tpk_${'4'.repeat(49)}`;
  const calls: Promise<string>[] = [
    send(`${demo.gateway_url}/chat/completions`, chat, withKey),
    send(`${demo.gateway_url}/chat/completions`, chat, { authorization: `Bearer ${wrongKey}` }),
    send(`${demo.gateway_url}/chat/completions`, `{"model":"${PROMPT}"`, withKey),
    send(`${demo.gateway_url}/chat/completions?api_key=${wrongKey}&q=${PROMPT}`, chat, withKey),
    send(`${demo.gateway_url}/parse/cv`, JSON.stringify({ text: CV }), withKey),
    send(`${demo.backend_url}/graphql`, login(demo.company_admin.password)),
    send(`${demo.backend_url}/graphql`, login(PASSWORD)),
    send(`${demo.backend_url}/graphql`, `{ "query": "{ ${PASSWORD} }" `),
    send(`${demo.backend_url}/payments/webhook`, `{"id":"${PROMPT}"}`, { 'stripe-signature': 't=1,v1=00' }),
    send(`${demo.ai_url}/internal/none`, chat, { authorization: `Bearer ${PASSWORD}` }),
  ];
  const answers = await Promise.all(calls);
  const { accessToken, refreshToken } = JSON.parse(answers[5] ?? '').data.login;
  system.signal('SIGTERM');
  expect(await system.exited).toBe(0);
  const logged = system.output() + system.errors();
  await until(() => logged.length > 0);
  const planted = [PROMPT, 'Markerson', 'marker5521', PASSWORD, wrongKey, accessToken, refreshToken];
  const secrets = [demo.api_key, demo.full_key, demo.internal_token, demo.webhook_secret, demo.jwt_secret];
  const people = [demo.company_admin.password, demo.super_admin.password];
  const seen = [...planted, ...secrets, ...people].filter((secret) => logged.includes(secret));
  expect(seen).toEqual([]);
});
