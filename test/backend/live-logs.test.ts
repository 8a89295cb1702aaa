import { afterEach, describe, expect, test } from 'bun:test';
import { createAccessTokens } from '../../src/domain/accounts/tokens.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { JWT_SECRET } from './backend-under-test.ts';
import { type LiveLogsUnderTest, openLiveLogs, type Watch } from './live-logs-under-test.ts';

const watches: Watch[] = [];
const live = useResource(() => openLiveLogs());
afterEach(async () => {
  for (const { stop } of watches.splice(0)) stop();
  await live.watchers(0);
});

function watch(...args: Parameters<LiveLogsUnderTest['watch']>): Watch {
  const watching = live.watch(...args);
  watches.push(watching);
  return watching;
}
const heard = ({ lines }: Watch) => lines.map(({ message }) => message);

describe('the live log', () => {
  test('P-13 a super admin sees lines as they are logged, with timestamp, level, message and context', async () => {
    const watching = watch(live.people.superAdmin.token);
    await live.watchers(1);
    live.say('warn', 'slow', { requestId: 'req_1', nested: { ms: 9 } });
    await live.pass();
    await until(() => watching.lines.length === 1);
    expect(watching.lines).toEqual([
      {
        timestamp: new Date(live.clock.now() - 25).toISOString(),
        level: 'WARN',
        message: 'slow',
        context: { requestId: 'req_1', nested: { ms: 9 } },
      },
    ]);
  });

  test('P-13 level and text filter on the server, in message and context, whatever the case', async () => {
    const { token } = live.people.superAdmin;
    const all = watch(token);
    const warnings = watch(token, { minLevel: 'WARN' });
    const about = watch(token, { contains: 'ACME', minLevel: 'INFO' });
    await live.watchers(3);
    live.say('debug', 'acme in detail');
    live.say('info', 'hello', { company: 'Acme' });
    live.say('warn', 'odd');
    live.say('error', 'for aCmE');
    await live.pass();
    await until(() => all.lines.length === 4 && warnings.lines.length === 2 && about.lines.length === 2);
    expect(heard(warnings)).toEqual(['odd', 'for aCmE']);
    expect(heard(about)).toEqual(['hello', 'for aCmE']);
  });

  test('P-13 each asks for the fields it wants, under names of its own', async () => {
    const { token } = live.people.superAdmin;
    const [short, other] = [
      watch(token, {}, 'subscription { logStream { text: message } }'),
      watch(token, {}, 'subscription S { logStream { level } }'),
    ];
    await live.watchers(2);
    live.say('info', 'one');
    await live.pass();
    await until(() => short.lines.length === 1 && other.lines.length === 1);
    expect([short.lines, other.lines] as unknown[]).toEqual([[{ text: 'one' }], [{ level: 'INFO' }]]);
  });

  test('P-14 without a token UNAUTHENTICATED, without the right FORBIDDEN', async () => {
    const { admin, member } = live.people;
    const codeOf = async (token: string | null) =>
      (await watch(token).ended).errors?.map(({ extensions }) => extensions.code);
    expect(await codeOf(null)).toEqual(['UNAUTHENTICATED']);
    expect(await codeOf(`${admin.token}x`)).toEqual(['UNAUTHENTICATED']);
    expect(await codeOf(admin.token)).toEqual(['FORBIDDEN']);
    expect(await codeOf(member.token)).toEqual(['FORBIDDEN']);
    expect(live.parts.logWatchers.count()).toBe(0);
  });

  test('P-13 a filter that is too long or no text is BAD_USER_INPUT, and nothing is watched', async () => {
    for (const contains of ['x'.repeat(10_000), 'a\u0000b', ' ']) {
      const { errors } = await watch(live.people.superAdmin.token, { contains }).ended;
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'contains' });
    }
    const { errors } = await watch(live.people.superAdmin.token, { minLevel: 'LOUD' }).ended;
    expect(errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
  });

  test('P-13 who asks for it is told when the watching begins, also where nothing is logged', async () => {
    const query = 'subscription { logStream(announced: true, minLevel: ERROR) { message context } }';
    const watching = watch(live.people.superAdmin.token, {}, query);
    await until(() => watching.lines.length === 1);
    expect(watching.lines[0]?.context).toEqual({ watching: true });
    expect(live.parts.logWatchers.count()).toBe(1);
    live.say('error', 'and then the rest');
    await live.pass();
    await until(() => watching.lines.length === 2);
    expect(watching.lines[1]?.message).toBe('and then the rest');
    watching.stop();
    await live.watchers(0);
  });

  test('P-13 a watcher that leaves is forgotten', async () => {
    const watching = watch(live.people.superAdmin.token);
    await live.watchers(1);
    watching.stop();
    await live.watchers(0);
  });
});

describe('a right to watch that ends', () => {
  test('P-13 when the token expires the socket is closed with 4403', async () => {
    const shortLived = await createAccessTokens([JWT_SECRET], live.clock, 7);
    const { token } = await shortLived.issue(live.people.superAdmin);
    const watching = watch(token);
    await live.watchers(1);
    await live.pass(6_000);
    live.say('info', 'still there');
    await live.pass();
    await until(() => watching.lines.length === 1);
    expect(await live.end(watching)).toEqual({ code: 4403 });
  });

  test('P-13 when the right is withdrawn the socket is closed with 4403 within seconds', async () => {
    const root = await live.person(live.companies.acme, { isSuperAdmin: true });
    const watching = watch(root.token);
    await live.watchers(1);
    await live.database.query('update users set is_super_admin = false where id = $1', [root.userId]);
    expect(await live.end(watching)).toEqual({ code: 4403 });
    await live.watchers(0);
  });

  test('P-13 who is removed, or has all sessions ended, is closed out too', async () => {
    for (const change of ['removed_at = now()', "tokens_valid_from = '2100-01-01'"]) {
      const root = await live.person(null, { isSuperAdmin: true });
      const watching = watch(root.token);
      await live.watchers(1);
      await live.database.query(`update users set ${change} where id = $1`, [root.userId]);
      expect(await live.end(watching)).toEqual({ code: 4403 });
      await live.watchers(0);
    }
  });
});
