import { describe, expect, test } from 'bun:test';
import { totpCode } from '../../src/domain/accounts/two-factor.ts';
import { postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import { openBackend, PASSWORD } from '../backend/backend-under-test.ts';
import { type GraphqlClient, graphqlClient } from '../backend/graphql-client.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';

const SIGN_UP = 'mutation($input: SignUpInput!) { signUp(input: $input) { accessToken } }';
const VERIFY = 'mutation($token: String!) { verifyEmail(token: $token) }';
const RESEND = 'mutation { resendVerification }';
const INVITE = 'mutation($email: String!) { inviteMember(email: $email) { id } }';
const STATE = '{ whoAmI { emailVerified } company { id } creditBalance { credits } }';
const HOUR_MS = 3_600_000;

interface State {
  readonly whoAmI: { readonly emailVerified: boolean };
  readonly company: { readonly id: string };
  readonly creditBalance: { readonly credits: number };
}

const backend = useResource(() => openBackend({ trialCredits: 25 }));
let people = 0;

/** A user who signs up with an address that may belong to another person, from their own IP address. */
async function signedUp() {
  people += 1;
  const email = `victim${people}@elsewhere.example`;
  const address = `198.51.100.${people}`;
  const input = { companyName: `Shell ${people}`, email, password: PASSWORD };
  const anonymous = graphqlClient(backend.fetch, null, address);
  const { signUp } = await anonymous.ask<{ signUp: { accessToken: string } }>(SIGN_UP, { input });
  const client = graphqlClient(backend.fetch, signUp.accessToken, address);
  return { email, anonymous, client, token: lastToken(email), state: () => client.ask<State>(STATE) };
}

function lastToken(email: string): string {
  const mail = backend.mails.findLast(({ kind, to }) => kind === 'verify-email' && to === email);
  return mail?.data.token ?? '';
}

/** The owner of the address, who has set a password by the link of a mail. */
async function resetByMail(anonymous: GraphqlClient, email: string): Promise<GraphqlClient> {
  await anonymous.ask('mutation($email: String!) { requestPasswordReset(email: $email) }', { email });
  const mailed = () => backend.mails.find(({ kind, to }) => kind === 'password-reset' && to === email);
  await until(() => mailed() !== undefined);
  const { resetPassword } = await anonymous.ask<{ resetPassword: { accessToken: string } }>(
    'mutation($token: String!) { resetPassword(token: $token, password: "tall ladders at noon") { accessToken } }',
    { token: mailed()?.data.token },
  );
  return graphqlClient(backend.fetch, resetPassword.accessToken);
}

describe('an address that is not verified', () => {
  test('cannot invite and has no granted credits until the address is verified', async () => {
    const { client, anonymous, token, state } = await signedUp();
    expect((await client.refusal(INVITE, { email: 'spam@elsewhere.example' })).extensions).toMatchObject({
      code: 'FORBIDDEN',
      reason: 'EMAIL_NOT_VERIFIED',
    });
    const billing = 'mutation { updateCompany(billingEmail: "spam@elsewhere.example") { id } }';
    expect((await client.refusal(billing)).extensions).toMatchObject({ reason: 'EMAIL_NOT_VERIFIED' });
    expect(await state()).toMatchObject({ whoAmI: { emailVerified: false }, creditBalance: { credits: 0 } });
    expect(await anonymous.ask(VERIFY, { token })).toEqual({ verifyEmail: true });
    expect(await state()).toMatchObject({ whoAmI: { emailVerified: true }, creditBalance: { credits: 25 } });
    await client.ask(INVITE, { email: 'colleague@elsewhere.example' });
  });

  test('cannot keep the account from the owner of the address by two-factor authentication', async () => {
    const { client, anonymous, email } = await signedUp();
    const begun = await client.ask<{ beginTotp: { secret: string } }>('mutation { beginTotp { secret } }');
    const code = await totpCode(begun.beginTotp.secret, Math.floor(backend.clock.now() / 30_000));
    await client.ask('mutation($code: String!) { confirmTotp(code: $code) { recoveryCodes } }', { code });
    const owner = await resetByMail(anonymous, email);
    expect((await client.refusal('{ whoAmI { id } }')).extensions.code).toBe('UNAUTHENTICATED');
    expect(await owner.ask('mutation { beginTotp { secret } }')).toHaveProperty('beginTotp.secret');
  });

  test('cannot take a free plan or a trial, whose credits are not paid for, and may buy a plan', async () => {
    const { client, anonymous, token } = await signedUp();
    const create = 'mutation($input: PlanInput!) { createPlan(input: $input) { id } }';
    const add = async (name: string, changes: object) => {
      const input = { name, billingMode: 'PREPAID', currency: 'usd', credits: 100, ...changes };
      return (await backend.people.superAdmin.ask<{ createPlan: { id: string } }>(create, { input }))
        .createPlan.id;
    };
    const free = await add('Free', { price: 0 });
    const trial = await add('Trial', { price: 9, trialDays: 14 });
    const paid = await add('Paid', { price: 9 });
    await backend.people.superAdmin.ask('mutation { syncAllPlansProviderPricing { id } }');
    const checkout = 'mutation($id: ID!) { createSubscriptionCheckout(planId: $id) { url } }';
    for (const id of [free, trial]) {
      const { extensions } = await client.refusal(checkout, { id });
      expect(extensions).toMatchObject({ code: 'FORBIDDEN', reason: 'EMAIL_NOT_VERIFIED' });
    }
    await client.ask(checkout, { id: paid });
    await anonymous.ask(VERIFY, { token });
    await client.ask(checkout, { id: trial });
  });

  test('never blocks what was bought', async () => {
    const { state } = await signedUp();
    const { company } = await state();
    await backend.database.transaction((transaction) =>
      postTransaction(transaction, {
        ...{ accountId: company.id, type: 'PACK_PURCHASE', amountMicro: 7_000_000n, contra: 'sales' },
        ...{ sourceKind: 'test', sourceId: company.id },
      }),
    );
    expect(await state()).toMatchObject({ whoAmI: { emailVerified: false }, creditBalance: { credits: 7 } });
  });
});

describe('the token of the mail', () => {
  test('is valid once, also for two concurrent requests, and grants once', async () => {
    const { anonymous, token, state } = await signedUp();
    const both = await Promise.all([1, 2].map(() => anonymous.answer(VERIFY, { token })));
    expect(both.filter(({ errors }) => errors === undefined)).toHaveLength(1);
    expect((await anonymous.refusal(VERIFY, { token })).extensions.code).toBe('NOT_FOUND');
    expect(await state()).toMatchObject({ creditBalance: { credits: 25 } });
  });

  test('expires after three days and with a later one; forged ones are rejected', async () => {
    const { client, anonymous, token, email, state } = await signedUp();
    await client.ask(RESEND);
    const later = lastToken(email);
    for (const wrong of [token, '', 'x'.repeat(500), "' or true --"]) {
      expect((await anonymous.refusal(VERIFY, { token: wrong })).extensions.code).toBe('NOT_FOUND');
    }
    expect((await state()).whoAmI.emailVerified).toBe(false);
    await backend.clock.advance(72 * HOUR_MS);
    expect((await anonymous.refusal(VERIFY, { token: later })).extensions.code).toBe('NOT_FOUND');
  });

  test('cannot flood a mailbox: five more in an hour, and none once it is verified', async () => {
    const { client, email, anonymous } = await signedUp();
    const mailed = () => backend.mails.filter(({ to }) => to === email).length;
    for (let time = 0; time < 5; time += 1) await client.ask(RESEND);
    expect((await client.refusal(RESEND)).extensions.code).toBe('RATE_LIMITED');
    expect(mailed()).toBe(6);
    await anonymous.ask(VERIFY, { token: lastToken(email) });
    const { email: other, client: verified, anonymous: anyone } = await signedUp();
    await anyone.ask(VERIFY, { token: lastToken(other) });
    await verified.ask(RESEND);
    expect(backend.mails.filter(({ to }) => to === other)).toHaveLength(1);
  });
});

describe('other mails verify the address too', () => {
  test('a password reset by its link, which also grants once', async () => {
    const { email, anonymous, token } = await signedUp();
    const owner = await resetByMail(anonymous, email);
    const proven = { whoAmI: { emailVerified: true }, creditBalance: { credits: 25 } };
    expect(await owner.ask(STATE)).toMatchObject(proven);
    await anonymous.ask(VERIFY, { token });
    expect(await owner.ask(STATE)).toMatchObject(proven);
  });

  test('an accepted invitation, which makes no second grant', async () => {
    const { client, anonymous, token, state } = await signedUp();
    await anonymous.ask(VERIFY, { token });
    await client.ask(INVITE, { email: 'second.admin@elsewhere.example' });
    const { acceptInvitation } = await anonymous.ask<{ acceptInvitation: { accessToken: string } }>(
      `mutation($token: String!) { acceptInvitation(token: $token, password: "tall ladders at noon") { accessToken } }`,
      { token: backend.mails.at(-1)?.data.token },
    );
    const guest = graphqlClient(backend.fetch, acceptInvitation.accessToken);
    expect(await guest.ask('{ whoAmI { emailVerified } }')).toEqual({ whoAmI: { emailVerified: true } });
    expect((await state()).creditBalance.credits).toBe(25);
  });
});
