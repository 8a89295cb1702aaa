import { describe, expect, test } from 'bun:test';
import { requestPasswordReset } from '../../src/domain/accounts/passwords.ts';
import { findUser } from '../../src/domain/accounts/user.ts';
import { givenRedis } from '../services/given.ts';
import { useRedis } from '../setup/use-redis.ts';
import { useResource } from '../setup/use-resource.ts';
import { fillWithMember, MEMBER_MARKERS } from './marked-member.ts';
import { OF_MEMBERS } from './personal-tables.ts';
import { searchRedis, searchTables } from './search.ts';
import { openSearchedSystem } from './searched-system.ts';

const redis = useRedis();
const prefix = redis.newPrefix();
const system = useResource(async () => {
  const sharedState = givenRedis() === null ? null : await redis.open({ prefix });
  return await openSearchedSystem(sharedState);
});

/** What has the address or the name of somebody who left, and why. */
const KEEP_NAMES = {
  audit_log: 'who did what, as it was then',
  mail_outbox: 'whether a mail was sent to the address, for 30 days',
  meetings: 'who took part in a meeting of the company',
  oidc_identities: 'that the person comes back by invitation only',
  room_events: 'who took part in a meeting of the company',
  users: 'the author of changes',
};
/** Of whom their id is left besides, which `users` resolves. */
const KEEP_IDS = {
  alert_channels: 'a channel that no longer reaches anybody',
  alert_settings: 'a receiver who no longer gets anything',
  api_keys: 'who created a key of the company',
  service_tokens: 'who created a token, which is refused from now on',
  talents: 'who created a talent',
  talent_versions: 'who changed a talent',
};

const REMOVE = 'mutation($id: ID!) { removeMember(userId: $id) }';
const LEAVE = 'mutation { leaveCompany }';

describe.each(['removed', 'leaving'])('P-15 of a member who is %s', (how) => {
  test('nothing of a sign-in is left, no token and no waiting mail; the address where changes name their author', async () => {
    const { userId, client } = await fillWithMember(system);
    const before = await searchTables(system.database, [...MEMBER_MARKERS, userId]);
    expect(Object.keys(before).toSorted()).toEqual([...OF_MEMBERS].toSorted());

    if (how === 'removed') await system.backend.people.admin.ask(REMOVE, { id: userId });
    else await client.ask(LEAVE);
    const names = await searchTables(system.database, MEMBER_MARKERS);
    expect(Object.keys(names).toSorted()).toEqual(Object.keys(KEEP_NAMES).toSorted());
    const ids = { ...KEEP_IDS, ...KEEP_NAMES, mail_outbox: undefined, room_events: undefined };
    const withId = Object.entries(ids).flatMap(([table, reason]) => (reason === undefined ? [] : [table]));
    expect(Object.keys(await searchTables(system.database, [userId])).toSorted()).toEqual(withId.toSorted());
    const [user] = await system.database.query(
      'select password_hash as hash, role from users where id = $1',
      [userId],
    );
    expect(user).toEqual({ hash: '', role: 'MEMBER' });
    if (givenRedis() !== null) expect(await searchRedis(prefix, MEMBER_MARKERS)).toEqual({});
  });

  test('mails do not arrive any more, and what they were to say is gone; those of others arrive', async () => {
    const mails = await system.database.query<{ to: string; state: string; data: object }>(
      'select to_address as "to", state, data from mail_outbox',
    );
    const { true: theirs = [], false: others = [] } = Object.groupBy(mails, ({ to }) =>
      String(to.includes('quibblethorn')),
    );
    expect(theirs.map(({ state, data }) => [state, data])).toEqual(theirs.map(() => ['FAILED', {}]));
    expect(theirs.length).toBeGreaterThanOrEqual(4);
    expect(others.map(({ state }) => state)).toEqual(others.map(() => 'WAITING'));
    expect(others).not.toEqual([]);
  });
});

test('P-15 a super admin who leaves a company keeps the sign-in, and mails with tokens for it arrive', async () => {
  const { backend } = system;
  const { email, userId, ask } = await backend.person(backend.companies.acme, { isSuperAdmin: true });
  await system.database.transaction(async (transaction) => {
    const user = await findUser(transaction, userId);
    if (user === null) throw new Error('the super admin is gone');
    await requestPasswordReset(backend.parts, transaction, user);
  });
  await ask(LEAVE);
  const [left] = await system.database.query(
    `select password_hash <> '' as "hasPassword", company_id as company, removed_at as "removedAt",
       (select count(*) from password_resets where user_id = $1) as resets,
       (select state from mail_outbox where to_address = $2) as mail from users where id = $1`,
    [userId, email],
  );
  expect(left).toEqual({ hasPassword: true, company: null, removedAt: null, resets: 1n, mail: 'WAITING' });
});
