import { expect, test } from 'bun:test';
import { createClient } from 'graphql-ws';
import { until } from '../doubles/until.ts';
import { describeServers } from '../setup/use-redis.ts';
import { useProcesses } from '../setup/use-system.ts';

interface Line {
  readonly message: string;
  readonly context: { readonly process?: number };
}

describeServers('the live log of several processes', () => {
  const processes = useProcesses();

  test('P-13 a watcher at one backend sees lines of a gateway and another backend, and is closed when its own shuts down', async () => {
    const backend = await processes.start('backend.ts');
    const address = backend.origin;
    const query =
      'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }';
    const answer = await fetch(`${address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables: processes.demo.super_admin }),
    });
    const { data: session } = (await answer.json()) as { data: { login: { accessToken: string } } };

    const lines: Line[] = [];
    const closed = Promise.withResolvers<number>();
    const client = createClient({
      url: `${address.replace('http', 'ws')}/graphql`,
      lazy: false,
      retryAttempts: 0,
      connectionParams: { Authorization: `Bearer ${session.login.accessToken}` },
      on: { closed: (event) => closed.resolve((event as CloseEvent).code) },
      onNonLazyError: () => {},
    });
    client.subscribe<{ logStream: Line }>(
      { query: 'subscription { logStream { message context } }' },
      {
        next: ({ data: line }) => void (line != null && lines.push(line.logStream)),
        error() {},
        complete() {},
      },
    );
    const others = await Promise.all([processes.start('gateway.ts'), processes.start('backend.ts')]);
    for (const other of others) {
      other.signal('SIGTERM');
      expect(await other.exited).toBe(0);
    }
    await until(() =>
      others.every(({ pid }) =>
        lines.some(({ message, context }) => message === 'stopping' && context.process === pid),
      ),
    );
    backend.signal('SIGTERM');
    expect(await closed.promise).toBe(1001);
    expect(await backend.exited).toBe(0);
  });
});
