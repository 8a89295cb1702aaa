import type { Socket } from 'bun';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { mediaType } from '../../src/adapters/model-upstream/provider-calls.ts';
import { createSocketUpstream } from '../../src/adapters/model-upstream/sockets.ts';
import type { ModelUpstream } from '../../src/ports/model-upstream.ts';
import { createSeededRandom, type SeededRandom } from '../doubles/seeded-random.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { damaged, type GeneratedAnswer, generateAnswer } from './generated-answer.ts';

/** Calls at once. */
const LANES = 24;

interface FuzzedAnswers {
  /** By what came of them. */
  readonly seen: Readonly<Record<'whole' | 'damaged-and-read' | 'damaged-and-refused', number>>;
}

/**
 * The same generated answers, over real connections and cut anywhere, to our client and to the runtime's `fetch`. Half of
 * them are whole: both clients read what was meant. The other half is damaged: our client refuses, or reads exactly what
 * `fetch` reads. Throws for the first answer where that does not hold.
 */
export async function fuzzAnswers(seed: number, count: number): Promise<FuzzedAnswers> {
  const provider = startProvider(seed);
  const parts = {
    clock: createSystemClock(),
    log: createSilentLog(),
    firstByteTimeouts: { wholeMs: 10_000, streamMs: 10_000 },
  };
  const approveHost = () => ({ outcome: 'approved' as const, addresses: ['127.0.0.1'] });
  const ours = createSocketUpstream({ ...parts, approveHost });
  const seen = { whole: 0, 'damaged-and-read': 0, 'damaged-and-refused': 0 };
  const random = createSeededRandom(seed);
  let made = 0;
  async function lane(): Promise<void> {
    while (made < count) {
      const nth = made;
      made += 1;
      // The runtime prints a line about each body that it cannot inflate: those are left whole.
      const answer = nth % 2 === 0 ? generateAnswer(random) : damaged(random, generateAnswer(random, false));
      const [read, fetched] = await Promise.all([
        provider.ask(answer, (baseUrl) => readByUs(ours, baseUrl)),
        provider.ask(answer, readByFetch),
      ]);
      seen[judge(answer, read, fetched, `answer ${nth} of seed ${seed}`)] += 1;
    }
  }
  try {
    await Promise.all(Array.from({ length: LANES }, lane));
    return { seen };
  } finally {
    ours.close();
    provider.close();
  }
}

type Outcome =
  | { readonly status: number; readonly contentType: string; readonly body: Uint8Array }
  | 'refused';

function judge(
  { bytes, expected }: GeneratedAnswer,
  read: Outcome,
  fetched: Outcome,
  which: string,
): keyof FuzzedAnswers['seen'] {
  const show = (outcome: Outcome) =>
    outcome === 'refused' ? outcome : JSON.stringify({ ...outcome, body: textOf(outcome.body) });
  const complain = (what: string) => {
    const lines = [
      `${which}: ${what}`,
      JSON.stringify(textOf(bytes)),
      `ours: ${show(read)}`,
      `fetch: ${show(fetched)}`,
    ];
    return new Error(lines.join('\n'));
  };
  if (expected !== null) {
    if (!Bun.deepEquals(read, expected)) throw complain('a whole answer was not read as it was meant');
    if (!Bun.deepEquals(fetched, expected)) throw complain('fetch reads a whole answer otherwise');
    return 'whole';
  }
  if (read === 'refused') return 'damaged-and-refused';
  if (!Bun.deepEquals(read, fetched)) throw complain('a damaged answer was read otherwise than by fetch');
  return 'damaged-and-read';
}

/** Answers each call with what was generated for it, in pieces. */
function startProvider(seed: number) {
  const answers = new Map<string, GeneratedAnswer>();
  const random = createSeededRandom(seed + 1);
  let next = 0;
  const listening = () =>
    Bun.listen<undefined>({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        data(socket, request) {
          const name = /\/(a\d+)\//.exec(new TextDecoder().decode(request))?.[1] ?? '';
          const answer = answers.get(name);
          if (answer !== undefined) void sendInPieces(socket, answer, random);
        },
      },
    });
  const wholeOnes = listening();
  // Closed after every answer, whatever it says: the next call on such a connection may fail.
  const damagedOnes = listening();
  return {
    async ask(answer: GeneratedAnswer, read: (baseUrl: string) => Promise<Outcome>): Promise<Outcome> {
      const name = `a${next}`;
      next += 1;
      answers.set(name, answer);
      const { port } = answer.expected === null ? damagedOnes : wholeOnes;
      return await read(`http://127.0.0.1:${port}/${name}`)
        .catch(() => 'refused' as const)
        .finally(() => answers.delete(name));
    },
    close() {
      wholeOnes.stop(true);
      damagedOnes.stop(true);
    },
  };
}

async function readByUs(upstream: ModelUpstream, baseUrl: string): Promise<Outcome> {
  const { signal } = new AbortController();
  const call = { endpoint: 'completions', body: new Uint8Array(2), headers: {}, signal } as const;
  const answer = await upstream.send({ id: 't', baseUrl, model: 'm', apiKey: null }, call);
  const chunks: Uint8Array[] = [];
  for (let read = await answer.body.read(10_000); read !== null; read = await answer.body.read(10_000)) {
    if (typeof read === 'string') return 'refused';
    chunks.push(read);
  }
  const { status, contentType } = answer;
  return { status, contentType, body: new Uint8Array(Buffer.concat(chunks)) };
}

/** A connection for each: it sends a call a second time where one that it has kept is closed. */
async function readByFetch(baseUrl: string): Promise<Outcome> {
  const headers = { 'accept-encoding': 'identity' };
  const body = new Uint8Array(2);
  const response = await fetch(`${baseUrl}/completions`, {
    ...{ method: 'POST', headers, body, keepalive: false, redirect: 'manual' },
  });
  const contentType = mediaType(response.headers.get('content-type'));
  return { status: response.status, contentType, body: await response.bytes() };
}

async function sendInPieces(
  socket: Socket<undefined>,
  { bytes, closes }: GeneratedAnswer,
  random: SeededRandom,
): Promise<void> {
  const cuts = random.below(3) === 0 ? random.below(6) : 0;
  const places = Array.from({ length: cuts }, () => random.below(bytes.length + 1)).sort((a, b) => a - b);
  let from = 0;
  for (const place of [...places, bytes.length]) {
    if (place > from) socket.write(bytes.subarray(from, place));
    from = place;
    if (from < bytes.length) await new Promise((resolve) => setImmediate(resolve));
  }
  if (closes) socket.end();
}

function textOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
}
