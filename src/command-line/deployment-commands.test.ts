import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../test/doubles/manual-clock.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { verifyDeployment } from './deployment-commands.ts';

type Answer = () => Promise<Response>;
const start = Date.UTC(2026, 0, 1);

/** Runs the command against a scripted service, moving the clock until it has ended. */
async function verify(url: string, answer: (attempt: number) => ReturnType<Answer>) {
  const clock = createManualClock(start);
  const asked: { url: string; at: number }[] = [];
  const command = verifyDeployment(async (address, { signal }) => {
    asked.push({ url: address, at: clock.now() - start });
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason)),
    );
    return await Promise.race([answer(asked.length), aborted]);
  });
  const lines: string[] = [];
  const terminal = {
    print: (line: string) => void lines.push(line),
    complain: (line: string) => void lines.push(line),
  };
  let exitCode = -1;
  if (command.works !== 'alone') throw new Error('it needs no database');
  const running = command.run({ terminal, clock, secrets: createSystemSecrets() }, [url]).then((code) => {
    exitCode = code;
  });
  for (let second = 0; second < 70 && exitCode === -1; second += 1) await clock.advance(1_000);
  await running;
  return { exitCode, asked, lines, tookMs: clock.now() - start };
}

const good = async () => Response.json({ status: 'ok' });
const away = () => Promise.reject(new Error('refused'));

describe('P-6 turnpike verify-deployment', () => {
  test('P-6 succeeds at the first good answer', async () => {
    const { exitCode, asked } = await verify('http://x:1', good);
    expect(exitCode).toBe(0);
    expect(asked.map(({ url }) => url)).toEqual(['http://x:1/health']);
  });

  test('P-6 asks 20 times, 3 s apart, then gives up within 60 s', async () => {
    const { exitCode, asked, tookMs } = await verify('http://x:1', away);
    expect(exitCode).toBe(1);
    expect(asked.map(({ at }) => at)).toEqual(Array.from({ length: 20 }, (_, n) => n * 3_000));
    expect(tookMs).toBeLessThanOrEqual(60_000);
  });

  test('P-6 a service that hangs does not make it any longer', async () => {
    const { exitCode, asked, tookMs } = await verify('http://x:1', () => new Promise(() => {}));
    expect(exitCode).toBe(1);
    expect(asked).toHaveLength(20);
    expect(tookMs).toBeLessThanOrEqual(60_000);
  });

  test('P-6 a late service passes; other statuses and bodies without a status do not', async () => {
    const answers: Answer[] = [
      away,
      async () => new Response('starting', { status: 503 }),
      async () => new Response('<html>'),
      async () => Response.json({ fine: true }),
      async () => Response.json({ status: 1 }),
      async () => new Response(null, { status: 301, headers: { location: 'http://elsewhere' } }),
      good,
    ];
    const { exitCode, asked, lines } = await verify('http://x:1', (attempt) =>
      (answers[attempt - 1] ?? away)(),
    );
    expect(exitCode).toBe(0);
    expect(asked).toHaveLength(7);
    expect(lines.at(-1)).toContain('is up after 7 of 20 attempts, status ok');
  });

  test('takes a base address with a path, or the address of the health route itself', async () => {
    for (const [given, asked] of [
      ['http://x:1/', 'http://x:1/health'],
      ['http://x:1/api', 'http://x:1/api/health'],
      ['http://x:1/health', 'http://x:1/health'],
    ] as const) {
      expect((await verify(given, good)).asked[0]?.url).toBe(asked);
    }
    expect((await verify('ftp://x', good)).exitCode).toBe(2);
  });
});
