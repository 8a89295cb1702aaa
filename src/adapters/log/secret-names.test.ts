import { expect, test } from 'bun:test';
import { judgeName, mayShow, type NameVerdict } from './secret-patterns.ts';

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

test('that something is set may be shown, and a number where counts bear such names', () => {
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
