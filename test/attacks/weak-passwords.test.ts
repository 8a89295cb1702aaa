import { describe, expect, test } from 'bun:test';
import { passwordProblem } from '../../src/domain/accounts/password-strength.ts';
import { openBackend, PASSWORD } from '../backend/backend-under-test.ts';
import { cpuMsOf } from '../doubles/cpu-time.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';

const OWN = 'Ada.Lovelace@acme.example';

/** What a guessing program tries first, as people write it when ten characters are asked for. */
const WEAK = `
  aaaaaaaaaa 1212121212 abcabcabcabc aaaaabbbbb 1111122222 monkeymonkey
  1234567890 0987654321 12345678910 abcdefghij qwertyuiop asdfghjkl; 1q2w3e4r5t
  1qaz2wsx3edc q1w2e3r4t5 zaq12wsxcde3 qazwsxedcrfv a1b2c3d4e5 147258369a abc123456789
  password123 Password2026! P@ssw0rd2026 Passw0rd!! administrator iloveyou123
  Welcome2026! basketball Summer2026!! ｐａｓｓｗｏｒｄ123
  ada.lovelace AdaLovelace2026 lovelace@acme.example acme-2026-acme sunshine-ada`
  .trim()
  .split(/\s+/);
const GOOD = [
  'correct horse battery',
  'tall ladders at noon',
  'kx92jf81ab',
  '8374628193',
  'zwölf Boxkämpfer',
  'длинный пароль',
  '纪念碑谷很好玩的游戏呀',
  'bluefishcoral9',
];

describe('passwords that are guessed first', () => {
  test.each(WEAK)('%s is refused', (password) => {
    expect(passwordProblem(password, OWN)).toBeString();
  });

  test.each(GOOD)('%s is accepted', (password) => {
    expect(passwordProblem(password, OWN)).toBeNull();
  });

  test('random ones are accepted, and the longest takes about a millisecond', async () => {
    for (let time = 0; time < 2_000; time += 1) {
      const drawn = crypto.getRandomValues(new Uint8Array(12)).toBase64();
      expect([drawn, passwordProblem(drawn, OWN)]).toEqual([drawn, null]);
    }
    const cpuMs = await cpuMsOf(() => {
      for (let time = 0; time < 20; time += 1) passwordProblem('a1b2c3'.repeat(85), OWN);
    });
    expect(cpuMs).toBeLessThan(1_000);
  });
});

describe('wherever a password is set', () => {
  const backend = useResource(() => openBackend());
  const refused = { code: 'BAD_USER_INPUT', field: expect.stringMatching(/password$/i) };

  test('signing up and changing it refuse the user’s own address and common words', async () => {
    const { anonymous } = backend.people;
    for (const password of ['pippa.longstocking', 'Password2026!']) {
      const input = { companyName: 'Own', email: 'pippa.longstocking@own.example', password };
      const { extensions } = await anonymous.refusal(
        'mutation($input: SignUpInput!) { signUp(input: $input) { expiresAt } }',
        { input },
      );
      expect(extensions).toMatchObject(refused);
    }
    const person = await backend.person(backend.companies.acme);
    const { extensions } = await person.refusal(
      'mutation($now: String!, $new: String!) { changePassword(currentPassword: $now, newPassword: $new) { expiresAt } }',
      { now: PASSWORD, new: person.email },
    );
    expect(extensions).toMatchObject(refused);
  });

  test('a reset and an invitation do too, and the link stays valid', async () => {
    const person = await backend.person(backend.companies.acme);
    await backend.people.anonymous.ask('mutation($email: String!) { requestPasswordReset(email: $email) }', {
      email: person.email,
    });
    await until(() => backend.mails.length === 1);
    const guest = 'pippa.longstocking@own.example';
    await backend.people.admin.ask('mutation($email: String!) { inviteMember(email: $email) { id } }', {
      email: guest,
    });
    const links = [
      ['resetPassword', backend.mails[0]?.data.token, person.email],
      ['acceptInvitation', backend.mails[1]?.data.token, guest],
    ] as const;
    for (const [operation, token, email] of links) {
      const choose = `mutation($token: String!, $password: String!) {
        ${operation}(token: $token, password: $password) { expiresAt } }`;
      for (const password of [email, 'Password2026!']) {
        const { extensions } = await backend.people.anonymous.refusal(choose, { token, password });
        expect([operation, extensions]).toEqual([operation, expect.objectContaining(refused)]);
      }
      await backend.people.anonymous.ask(choose, { token, password: 'tall ladders at noon' });
    }
  });
});
