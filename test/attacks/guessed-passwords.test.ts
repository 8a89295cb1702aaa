import { describe, expect, test } from 'bun:test';
import { emailKey, isEmail } from '../../src/domain/accounts/email.ts';
import { fillEmailKeys } from '../../src/domain/accounts/user.ts';
import { openBackend, PASSWORD } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';

const LOGIN =
  'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }';
const SIGN_UP = 'mutation($input: SignUpInput!) { signUp(input: $input) { accessToken } }';
const INVITE = 'mutation($email: String!) { inviteMember(email: $email) { email role expiresAt } }';
const RESET = 'mutation($email: String!) { requestPasswordReset(email: $email) }';

type Session = { login: { accessToken: string } };
const backend = useResource(() => openBackend());
let addresses = 0;

/** Each from an address of its own, so that only the account's own limit counts. */
function stranger(token: string | null = null, address?: string) {
  addresses += 1;
  return graphqlClient(backend.fetch, token, address ?? `198.51.100.${addresses}`);
}

async function signUp(email: string) {
  return await stranger().answer(SIGN_UP, { input: { companyName: 'Own', email, password: PASSWORD } });
}

describe('guessed passwords', () => {
  test('P-8 an unknown address and a wrong password get the same answer', async () => {
    const wrong = await stranger().answer(LOGIN, {
      email: backend.people.member.email,
      password: 'wrong password',
    });
    const unknown = await stranger().answer(LOGIN, {
      email: 'nobody@nowhere.example',
      password: 'wrong password',
    });
    expect(wrong).toEqual(unknown);
    expect(wrong.errors?.[0]?.extensions).toEqual({ code: 'UNAUTHENTICATED' });
  });

  /** A backend, and the hash that each password was compared with: null for the dummy one. */
  async function watched() {
    const { secrets } = backend.parts;
    const looks: (string | null)[] = [];
    const verifyPassword = (password: string, hash: string | null) => {
      looks.push(hash);
      return secrets.verifyPassword(password, hash);
    };
    return { looks, ...(await openBackend({ secrets: { ...secrets, verifyPassword } })) };
  }

  test('P-8 an unknown address takes the same work: one hash comparison, with a real or a dummy hash', async () => {
    const { looks, people, close } = await watched();
    for (const email of [people.member.email, 'nobody@nowhere.example']) {
      await people.anonymous.refusal(LOGIN, { email, password: 'wrong password' });
    }
    expect(looks).toEqual([expect.any(String), null]);
    await close();
  });

  test('P-8 the eleventh attempt on an account within a quarter of an hour is RATE_LIMITED', async () => {
    const person = await backend.person(backend.companies.acme);
    const wrong = { email: person.email, password: 'wrong password' };
    for (let attempt = 0; attempt < 10; attempt += 1) {
      expect((await stranger().refusal(LOGIN, wrong)).extensions.code).toBe('UNAUTHENTICATED');
    }
    const refused = await stranger().refusal(LOGIN, { ...wrong, password: PASSWORD });
    expect(refused.extensions).toEqual({ code: 'RATE_LIMITED', retryAfterSeconds: 900 });
    await backend.clock.advance(15 * 60_000);
    await stranger().ask(LOGIN, { ...wrong, password: PASSWORD });
  });

  test('no spelling of an address circumvents the limit: 10 password checks per user in total', async () => {
    const { looks, people, fetch, close } = await watched();
    const input = { companyName: 'Own', email: 'iiiiii@bücher.example', password: PASSWORD };
    await people.anonymous.ask(SIGN_UP, { input });
    // U+0130 lowers to two letters in JavaScript and to i in PostgreSQL; width, case and IDNA are the others of its kind.
    const spellings = Array.from({ length: 64 }, (_, bits) => {
      const written = (letter: string) =>
        [...'iiiiii'].map((plain, at) => ((bits >> at) & 1 ? letter : plain)).join('');
      return [`${written('İ')}@bücher.example`, `${written('Ｉ')}@XN--BCHER-KVA.example`];
    }).flat();
    for (const [at, email] of spellings.entries()) {
      const client = graphqlClient(fetch, null, `203.0.113.${at}`);
      await client.answer(LOGIN, { email, password: 'wrong password' });
    }
    expect(looks.filter((hash) => hash !== null)).toHaveLength(10);
    await close();
  });
});

describe('one address, one account', () => {
  test('spellings of one address are one account; letters that only look alike are not', async () => {
    expect((await signUp('Straße.Ada@Bücher.example')).errors).toBeUndefined();
    for (const email of ['STRASSE.ADA@bücher.EXAMPLE', 'ｓｔｒａßｅ.ada@xn--bcher-kva.example']) {
      expect([email, (await signUp(email)).errors?.[0]?.extensions.code]).toEqual([email, 'CONFLICT']);
    }
    await stranger().ask(LOGIN, { email: 'STRASSE.ADA@xn--bcher-kva.EXAMPLE', password: PASSWORD });
    expect((await signUp('straße.\u0430da@bücher.example')).errors).toBeUndefined();
  });

  test('keys are stable, fold sigma and dotted i as Unicode does, and keep the dotless one', () => {
    expect(emailKey('ΟΔΟΣ@x.example')).toBe(emailKey('οδοσ@x.example'));
    expect(emailKey('οδος@x.example')).toBe(emailKey('οδοσ@x.example'));
    expect(emailKey('İ@x.example')).toBe(emailKey('i\u0307@x.example'));
    expect(emailKey('İ@x.example')).not.toBe(emailKey('i@x.example'));
    expect(emailKey('ı@x.example')).not.toBe(emailKey('i@x.example'));
  });

  test('an address with hidden letters, or that decodes or normalises to another one, is invalid', () => {
    const hidden = ['a\u00adda@x.example', 'ada\ufe0f@x.example', 'ada\u3164@x.example'];
    const decoding = ['ada＠y.example@x.example', 'ada，b@x.example', 'ada@ex%61mple.com'];
    const hosts = ['ada@127.0.0.1', 'ada@0x7f.1.0.11', 'ada@x..example', 'ada@xn--zz--.example'];
    for (const email of [...hidden, ...decoding, ...hosts]) {
      expect([email, isEmail(email)]).toEqual([email, false]);
    }
  });

  test('existing accounts get keys; of two with the same address both can still sign in, and it is reported', async () => {
    const first = '00000000-0000-7000-8000-00000000000a';
    const second = '00000000-0000-7000-8000-00000000000b';
    const hash = await backend.parts.secrets.hashPassword(PASSWORD);
    for (const [id, email, createdAt] of [
      [first, 'ﬁrst@x.example', '2020-01-01'],
      [second, 'first@x.example', '2021-01-01'],
    ] as const) {
      await backend.database.query(
        `insert into users (id, company_id, email, password_hash, created_at) values ($1, $2, $3, $4, $5)`,
        [id, backend.companies.acme, email, hash, createdAt],
      );
    }
    // During a rollout, before any key is filled in.
    await stranger().ask(LOGIN, { email: 'FIRST@x.example', password: PASSWORD });
    expect(await fillEmailKeys(backend.database)).toEqual([second]);
    expect(await fillEmailKeys(backend.database)).toEqual([]);
    const who = async (email: string) => {
      const { login } = await stranger().ask<Session>(LOGIN, { email, password: PASSWORD });
      const { whoAmI } = await stranger(login.accessToken).ask<{ whoAmI: { id: string } }>(
        '{ whoAmI { id } }',
      );
      return whoAmI.id;
    };
    expect(await who('ﬁrst@x.example')).toBe(first);
    expect(await who('first@x.example')).toBe(second);
  });
});

describe('enumeration of accounts by address', () => {
  test('a password reset responds before any work that depends on the account', async () => {
    const gate = Promise.withResolvers<void>();
    let waiting = 0;
    const { database } = backend;
    const held = await openBackend({
      database: {
        ...database,
        async transaction(work, options) {
          waiting += 1;
          await gate.promise;
          return await database.transaction(work, options);
        },
      },
    });
    const { member } = backend.people;
    const answers = [];
    for (const email of [member.email, 'nobody@nowhere.example']) {
      answers.push(await graphqlClient(held.fetch, null).answer(RESET, { email }));
    }
    expect(answers[0]).toEqual(answers[1] as never);
    expect(waiting).toBe(1);
    gate.resolve();
    await until(() => held.mails.length === 1);
    expect(held.mails[0]).toMatchObject({ kind: 'password-reset', to: member.email });
  });

  test('an invitation has the same response and effects for an address with an account elsewhere', async () => {
    const { admin, otherAdmin } = backend.people;
    const done: string[][] = [];
    const { database } = backend;
    const recorded = await openBackend({
      database: {
        ...database,
        transaction: (work, options) =>
          database.transaction((transaction) => {
            const texts: string[] = [];
            done.push(texts);
            const query: typeof transaction.query = (text, values) => {
              texts.push(text);
              return transaction.query(text, values);
            };
            return work({ ...transaction, query });
          }, options),
      },
    });
    const client = graphqlClient(recorded.fetch, admin.token);
    const answers = [];
    for (const email of [otherAdmin.email, 'nobody@nowhere.example']) {
      answers.push(await client.ask<{ inviteMember: object }>(INVITE, { email }));
    }
    const [known, unknown] = answers.map(({ inviteMember }) => ({ ...inviteMember, email: '' }));
    expect(known).toEqual(unknown as never);
    expect(done[0]).toEqual(done[1] as string[]);
    expect(recorded.mails.map(({ kind, to }) => [kind, to])).toEqual([
      ['invitation', otherAdmin.email],
      ['invitation', 'nobody@nowhere.example'],
    ]);
    const own = await client.refusal(INVITE, { email: backend.people.member.email.toUpperCase() });
    expect(own.extensions.code).toBe('CONFLICT');
  });

  test('signing up reveals an account, and is limited by address and by e-mail', async () => {
    const taken = { companyName: 'Own', email: backend.people.member.email, password: PASSWORD };
    const codes: (string | undefined)[] = [];
    for (let time = 0; time < 11; time += 1) {
      const { errors } = await stranger().answer(SIGN_UP, { input: taken });
      codes.push(errors?.[0]?.extensions.code);
    }
    expect(codes).toEqual([...Array.from({ length: 10 }, () => 'CONFLICT'), 'RATE_LIMITED']);
    const one = stranger(null, '203.0.113.200');
    let refused: string | undefined;
    for (let time = 0; time < 31; time += 1) {
      const input = { ...taken, email: `p${time}@nowhere.example` };
      refused = (await one.answer(SIGN_UP, { input })).errors?.[0]?.extensions.code;
    }
    expect(refused).toBe('RATE_LIMITED');
  });
});
