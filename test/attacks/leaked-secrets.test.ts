import { expect, test } from 'bun:test';
import { createEventVerifier } from '../../src/adapters/payment-provider/stripe/verify-event.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createAccessTokens } from '../../src/domain/accounts/tokens.ts';
import { createCipher } from '../../src/domain/models/cipher.ts';
import { JWT_SECRET, openBackend } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { useResource } from '../setup/use-resource.ts';

const RENEWED = 'the secret that has replaced the leaked one';
const clock = createManualClock();
const backend = useResource(async () =>
  openBackend({ clock, accessTokens: await createAccessTokens([RENEWED], clock) }),
);

test('once JWT_SECRET is replaced, a token signed with the leaked one is anonymous', async () => {
  const { userId, email } = backend.people.superAdmin;
  const leaked = await createAccessTokens([JWT_SECRET], clock);
  const { token } = await leaked.issue({ userId, email });
  const { extensions } = await graphqlClient(backend.fetch, token).refusal('{ whoAmI { email } }');
  expect(extensions.code).toBe('UNAUTHENTICATED');
  expect(await backend.people.superAdmin.ask('{ whoAmI { email } }')).toEqual({ whoAmI: { email } });
});

test('P-3 once the webhook secret is replaced, an event signed with the leaked one is refused', () => {
  const verifyEvent = createEventVerifier({ secrets: ['whsec_renewed'], clock });
  const body = JSON.stringify({ id: 'evt_1', object: 'event', type: 'invoice.paid', data: { object: {} } });
  const at = Math.floor(clock.now() / 1000);
  const verdict = (secret: string) => {
    const hash = new Bun.CryptoHasher('sha256', secret).update(`${at}.${body}`).digest('hex');
    return verifyEvent(new TextEncoder().encode(body), `t=${at},v1=${hash}`);
  };
  expect(verdict('whsec_leaked')).toMatchObject({
    outcome: 'refused',
    message: expect.stringContaining('No signatures found matching'),
  });
  expect(JSON.stringify(verdict('whsec_renewed'))).not.toContain('No signatures found');
});

test('data encrypted under a replaced MASTER_KEY cannot be decrypted with the leaked one', async () => {
  const secrets = createSystemSecrets();
  const renewed = createCipher({ masterKeys: ['a renewed key of sufficient length'], secrets });
  const leaked = createCipher({ masterKeys: ['the leaked key of sufficient length'], secrets });
  const sealed = await renewed.encrypt('sk-provider', 'https://provider.example/v1');
  expect(await renewed.decrypt(sealed, 'https://provider.example/v1')).toBe('sk-provider');
  expect(leaked.decrypt(sealed, 'https://provider.example/v1')).rejects.toMatchObject({
    reason: 'another-master-key',
  });
});
