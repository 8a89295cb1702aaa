import { describe, expect, test } from 'bun:test';
import { cpuMsOf } from '../../../test/doubles/cpu-time.ts';
import { judgeName, mayShow, type NameVerdict, redactShapes } from './secret-patterns.ts';

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const SECRETS: readonly (readonly [text: string, shown: string])[] = [
  ['key tpk_9aZ8bY7cX6 was refused', 'key [redacted] was refused'],
  ['upstream sk-proj-AbC_123-xyz said no', 'upstream [redacted] said no'],
  ['sk_test_51Habcdef and whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', '[redacted] and [redacted]'],
  [`token ${JWT}.`, 'token [redacted]'],
  ['Authorization: Bearer abc', 'Authorization: [redacted]'],
  ['sent Bearer a1b2c3 twice', 'sent Bearer [redacted] twice'],
  ['sent bearer abcdefghijklmnopqrst', 'sent bearer [redacted]'],
  ['with Basic dXNlcjpwYXNz', 'with Basic [redacted]'],
  ['postgres://turnpike:hunter2@db:5432/main', 'postgres://turnpike:[redacted]@db:5432/main'],
  ['postgresql://u:p@ss/word@db/main', 'postgresql://u:[redacted]@db/main'],
  ['redis://:hunter2@cache:6379', 'redis://:[redacted]@cache:6379'],
  ['https://u:p%40ss@example.com/a?b', 'https://u:[redacted]@example.com/a?b'],
  ['a -----BEGIN PRIVATE KEY-----\nMIIE\nabc\n-----END PRIVATE KEY----- b', 'a [redacted] b'],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIE', '[redacted]'],
  ['password=hunter2&next=1', 'password=[redacted]&next=1'],
  ['{"password":"hunter \\" 2","a":1}', '{"password":[redacted],"a":1}'],
  ['{\\"api_key\\":\\"hunter2\\",\\"a\\":1}', '{\\"api_key\\":[redacted],\\"a\\":1}'],
  ['/callback?refresh_token=abc&x=1', '/callback?refresh_token=[redacted]&x=1'],
  ['Cookie: a=b; session=c\nnext', 'Cookie: [redacted]\nnext'],
  ['x-api-key: abc', 'x-api-key: [redacted]'],
  ['see data:image/png;base64,iVBORw0KGgo= there', 'see [redacted] there'],
  [
    '{"messages":[{"role":"user","content":"I am \\"Jane\\" Doe"}]}',
    '{"messages":[{"role":"user","content":"[redacted]"}]}',
  ],
  ['{"cv_text":"Jane Doe, born', '{"cv_text":"[redacted]"'],
];

const PROSE = [
  'basic authentication is required',
  'the bearer token is missing',
  'Unexpected token: }',
  'invalid signature: too old',
  'risk-assessment of task-1234567890 by sk-learn',
  'JWT_SECRET is missing',
  'password authentication failed for user "turnpike"',
  'http://127.0.0.1:8080/llm/v1/chat/completions?limit=5 answered 502',
  'Key (email)=(jane@example.com) already exists.',
  'content-type: application/json',
];

describe('names of secrets', () => {
  const NAMES: Record<NameVerdict, string> = {
    credential:
      'password PASSWORD passwd newPassword password_hash secret webhook_secret JWT_SECRET clientSecret authorization ' +
      'Proxy-Authorization cookie set-cookie api_key apiKey x-api-key OPENAI_API_KEY apiKey2 rawKey full_key ' +
      'private-key privateKeyPem signature stripe-signature jwt credentials auth pwd otp pin sig',
    token: 'token accessToken refresh_token internal_token tokens prompt_tokens max_tokens tokensPerMinute',
    content:
      'prompt systemPrompt messages message content fileContent text cv_text cvText rawText body rawBody requestBody ' +
      'cv CV resume input inputs userInput output answer arguments query variables payload document summary ' +
      'transcript profile evidence choices delta embedding prompt_1 coverLetter promptPreview',
    open:
      'requestId companyId keyId keyPrefix idempotencyKey context contentType content-length textLength bodyBytes ' +
      'promptCount documentId model status reason error errorMessage durationMs alias name title cvId recv level ' +
      'messageCount inputBytes answerMs path url service part command',
  };

  for (const [verdict, names] of Object.entries(NAMES)) {
    test.each(names.split(' '))(`%s is ${verdict}`, (name) => {
      expect(judgeName(name)).toBe(verdict as NameVerdict);
    });
  }

  test('a boolean may be shown, and a number where counts have such names', () => {
    expect([true, false, null, undefined].map((value) => mayShow('credential', value))).toEqual(
      Array(4).fill(true),
    );
    expect(mayShow('credential', 123_456)).toBe(false);
    expect(mayShow('token', 12)).toBe(true);
    expect(mayShow('content', 12n)).toBe(true);
    expect(mayShow('token', '12')).toBe(false);
    expect(mayShow('content', { role: 'user' })).toBe(false);
    expect(mayShow('open', 'x')).toBe(true);
  });
});

test.each(SECRETS)('%s', (text, shown) => {
  expect(redactShapes(text)).toBe(shown);
});

test.each(PROSE)('is not changed: %s', (text) => {
  expect(redactShapes(text)).toBe(text);
});

test('no input makes the search slow', async () => {
  const seeds = ['eyJ', 'eyJ.', 'key', '"', '"content":', 'postgres://a:', '\\', 'password\\', 'Bearer a'];
  const more = [
    '-----BEGIN A-----',
    '"a_a_a_a_a_a_a_a_a_a_',
    'password ',
    'data:',
    '://a:',
    'token   ',
    'Basic ',
  ];
  const cpuMs = await cpuMsOf(() => {
    for (const seed of [...seeds, ...more]) redactShapes(seed.repeat(4_096 / seed.length));
  });
  // All sixteen took 15 ms here; a pattern that backtracks takes seconds.
  expect(cpuMs).toBeLessThan(1_000);
});
