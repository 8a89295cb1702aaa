import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { until } from '../doubles/until.ts';
import { post } from '../gateway/gateway-under-test.ts';
import { givenDatabase, givenRedis } from '../services/given.ts';
import {
  callMany,
  callOnce,
  expectAllCharged,
  keepCalling,
  notWhole,
  type SeenCall,
} from './credit-clients.ts';
import { type CreditWorld, openCreditWorld, type RunningGateway } from './credit-world.ts';

const missing = givenDatabase() === null || givenRedis() === null;
const CONNECTIONS = 20;
const PASSWORD = 'before-the-rotation';
const METRICS_TOKEN = 'metrics-token-of-this-test-0123456789';

/**
 * Faults of a PostgreSQL that is up and answers: it refuses the gateway's login or its statements, for reasons that
 * have nothing to do with the calls. The gateway has a role of its own, which must log in with a password.
 */
describe.skipIf(missing)('G-33 PostgreSQL rejects the gateway under load: no finished call is lost', () => {
  const role = `gateway_${process.pid}_${crypto.randomUUID().slice(0, 8)}`;
  const seen: SeenCall[] = [];
  let world: CreditWorld;
  let gateway: RunningGateway;
  let operator: SQL;
  let hbaBefore: string;

  beforeAll(async () => {
    world = await openCreditWorld();
    operator = new SQL({ url: directUrl(), max: 1 });
    await operator.unsafe(
      `create role ${role} login password '${PASSWORD}';
       grant all on schema public to ${role};
       grant all on all tables in schema public to ${role};
       grant all on all sequences in schema public to ${role}`,
    );
    hbaBefore = await readHba();
    await writeHba(`host all ${role} all scram-sha-256\n${hbaBefore}`);
    const address = new URL(world.environment.DATABASE_URL ?? '');
    address.username = role;
    address.password = PASSWORD;
    gateway = await world.startGateway({
      ...{ DATABASE_URL: address.href, COMMIT_DEADLINE_MS: '500', METRICS_TOKEN },
    });
    seen.push(...(await callMany(5, gateway.url, world.rawKey)));
  });
  afterAll(async () => {
    gateway?.signal('SIGKILL');
    await gateway?.exited;
    await writeHba(hbaBefore);
    await operator.unsafe(`drop owned by ${role}; drop role ${role}`);
    await operator.close();
    await world.close();
  });
  /** Everything that was answered is in the books, exactly once, and nothing else is. */
  afterEach(() => expectAllCharged(world, seen));

  function directUrl(): string {
    const url = new URL(givenDatabase() ?? '');
    url.pathname = new URL(world.environment.DATABASE_URL ?? '').pathname;
    return url.href;
  }
  async function readHba(): Promise<string> {
    const [row] = await operator.unsafe("select pg_read_file(current_setting('hba_file')) as text");
    return row.text;
  }
  /** By the server itself, whose user alone may write the file. */
  async function writeHba(text: string): Promise<void> {
    const [{ file }] = await operator.unsafe("select current_setting('hba_file') as file");
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const rows = lines.map((line) => `('${line.replaceAll("'", "''")}')`).join(', ');
    await operator.unsafe(`copy (values ${rows}) to '${file}'`);
    await operator.unsafe('select pg_reload_conf()');
  }
  const cutConnections = () =>
    operator.unsafe(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`);
  /** PostgreSQL allows this from another database only. */
  async function elsewhere(statement: string): Promise<void> {
    const server = new SQL({ url: givenDatabase() ?? '', max: 1 });
    await server.unsafe(statement).finally(() => server.close());
  }
  const times = (text: string) => gateway.output().split(text).length - 1;

  /** Load before, during and after: every call is answered whole, and the fault was one that commits met. */
  async function loadThrough(sqlState: string, away: () => Promise<unknown>, back: () => Promise<unknown>) {
    const [faults, backs, noticed] = [
      times(sqlState),
      times('the database is back'),
      times('the database is unavailable'),
    ];
    const load = keepCalling(CONNECTIONS, gateway.url, world.rawKey);
    try {
      await until(() => load.seen.length > CONNECTIONS);
      try {
        await away();
        await until(() => times('the database is unavailable') > noticed && times(sqlState) > faults);
        const before = load.seen.length;
        await until(() => load.seen.length > before + CONNECTIONS * 5);
      } finally {
        await back();
      }
      await until(() => times('the database is back') > backs);
      const after = load.seen.length;
      await until(() => load.seen.length > after + CONNECTIONS * 5);
    } finally {
      seen.push(...(await load.stop()));
    }
    expect(notWhole(load.seen)).toEqual([]);
    expect(gateway.output()).not.toContain('a call could not be written');
    expect(gateway.output()).not.toContain('is not taken by the database');
  }

  test('its password was rotated while calls ran without other statements: their commits get 28P01 first', async () => {
    let asked = 0;
    world.answerAfter(() => {
      asked += 1;
      return 1_000;
    });
    const running = callMany(CONNECTIONS, gateway.url, world.rawKey);
    await until(() => asked === CONNECTIONS);
    await operator.unsafe(`alter role ${role} password 'rotated'`);
    await cutConnections();
    try {
      seen.push(...(await running));
      expect(notWhole(seen)).toEqual([]);
    } finally {
      world.answerAfter(() => 0);
      await operator.unsafe(`alter role ${role} password '${PASSWORD}'`);
    }
    await until(() => times('the database is back') > 0);
  });

  test('the database is read-only (25006)', async () => {
    const name = new URL(directUrl()).pathname.slice(1);
    await loadThrough(
      '25006',
      async () => {
        await operator.unsafe(`alter database ${name} set default_transaction_read_only = on`);
        await cutConnections();
      },
      async () => {
        await operator.unsafe(`alter database ${name} reset default_transaction_read_only`);
        await cutConnections();
      },
    );
  });

  /** Known keys go on, others cannot be verified, and health, readiness and the metric behind the alert say so. */
  async function drill(sqlState: string, away: () => Promise<unknown>, back: () => Promise<unknown>) {
    await until(async () => (await health()).database.status === 'up');
    const stranger = await world.mint();
    await loadThrough(
      sqlState,
      async () => {
        await away();
        await until(async () => (await health()).database.status !== 'up');
        const { status, reason } = await callOnce(gateway.url, stranger);
        expect([status, reason]).toEqual([503, expect.stringContaining('cannot be verified')]);
        await until(async () => (await metrics()).includes('\nturnpike_database_up 0\n'));
      },
      back,
    );
    await until(async () => (await health()).status === 'ok');
    await until(async () => (await metrics()).includes('\nturnpike_database_up 1\n'));
  }
  async function health() {
    const response = await fetch(new URL('/health', gateway.url));
    expect(response.status).toBe(200);
    return await response.json();
  }
  async function metrics() {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    return await (await fetch(new URL('/metrics', gateway.url), { headers })).text();
  }

  test('P-1 it accepts no connections (55000)', async () => {
    const name = new URL(directUrl()).pathname.slice(1);
    await drill(
      '55000',
      async () => {
        await elsewhere(`alter database ${name} allow_connections false`);
        await cutConnections();
      },
      () => elsewhere(`alter database ${name} allow_connections true`),
    );
  });

  test('P-1 the right to connect was revoked (42501)', async () => {
    const name = new URL(directUrl()).pathname.slice(1);
    await drill(
      '42501',
      async () => {
        await operator.unsafe(`revoke connect on database ${name} from public`);
        await cutConnections();
      },
      () => operator.unsafe(`grant connect on database ${name} to public`),
    );
  });

  test('P-1 the rights on the keys and on what charges calls were revoked (42501)', async () => {
    await drill(
      '42501',
      () => operator.unsafe(`revoke select on api_keys from ${role}; revoke insert on calls from ${role}`),
      () => operator.unsafe(`grant select on api_keys to ${role}; grant insert on calls to ${role}`),
    );
  });

  test('G-47 it answers nothing: a call with an Idempotency-Key is refused once that is known, others go on', async () => {
    const known = times('the database does not answer');
    const answers = times('the database answers again');
    world.toDatabase.hold();
    try {
      await until(() => times('the database does not answer') > known);
      const body = { model: 'svc/chat-default', messages: [], max_tokens: 10 };
      const headers = { 'idempotency-key': crypto.randomUUID() };
      const response = await post(`${gateway.url}/chat/completions`, world.rawKey, body, { headers });
      expect(response.status).toBe(503);
      // Neither this statement nor that of any other part has waited for its own time-out.
      expect(gateway.output()).not.toContain('the database took longer than');
      const others = await callMany(5, gateway.url, world.rawKey);
      seen.push(...others);
      expect(notWhole(others)).toEqual([]);
    } finally {
      world.toDatabase.release();
    }
    await until(() => times('the database answers again') > answers);
  });

  test('a function is gone (42883)', async () => {
    await loadThrough(
      '42883',
      () => operator.unsafe('alter function charge_call(json, uuid[]) rename to charge_call_gone'),
      () => operator.unsafe('alter function charge_call_gone(json, uuid[]) rename to charge_call'),
    );
  });
});
