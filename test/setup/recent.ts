/**
 * What happened last in this test process, kept for a test that fails: requests with their answers, log lines, and the output of
 * processes that it started. Filled under `npm test` only, which prints it beside the failure (test/setup/preload.ts).
 */
interface Exchange {
  readonly request: string;
  answer: string;
}

interface Speaker {
  readonly name: string;
  output(): string;
}

const KEPT_EXCHANGES = 4;
const KEPT_LINES = 12;
const KEPT_CHARACTERS = 400;

const recent = { isKept: false, exchanges: [] as Exchange[], lines: [] as string[] };
const speakers = new Set<Speaker>();
/** Still said in the test in which they ended. */
const ended = new Set<Speaker>();
const answers = new WeakMap<Response, Exchange>();

/** Passes requests through, noted with what is answered. */
export function noted<Rest extends unknown[]>(
  send: (request: Request, ...rest: Rest) => Promise<Response>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  return async (request, ...rest) => {
    if (!recent.isKept) return await send(request, ...rest);
    const { method, url } = request;
    const { pathname, search } = new URL(url);
    const body = await request
      .clone()
      .text()
      .catch(() => '');
    return await noteExchange(`${method} ${pathname}${search} ${body}`, send(request, ...rest));
  };
}

/** Notes a request with what is answered. */
export async function noteExchange(
  request: string,
  answering: Response | Promise<Response>,
): Promise<Response> {
  if (!recent.isKept) return await answering;
  const exchange: Exchange = { request: shortened(request), answer: 'no answer yet' };
  recent.exchanges.push(exchange);
  if (recent.exchanges.length > KEPT_EXCHANGES) recent.exchanges.shift();
  try {
    const response = await answering;
    exchange.answer = String(response.status);
    answers.set(response, exchange);
    return response;
  } catch (error) {
    exchange.answer = String(error);
    throw error;
  }
}

export function noteLine(line: () => string): void {
  if (!recent.isKept) return;
  recent.lines.push(shortened(line()));
  if (recent.lines.length > KEPT_LINES) recent.lines.shift();
}

/** A process whose last lines are of interest for as long as it runs. */
export function noteProcess(name: string, output: () => string, exited: Promise<unknown>): void {
  if (!recent.isKept) return;
  const speaker = { name, output };
  speakers.add(speaker);
  void exited.finally(() => ended.add(speaker));
}

/** From now on in this process: `fetch` notes its requests, and answers note what is read of them. */
export function keepRecent(): void {
  if (recent.isKept) return;
  recent.isKept = true;
  const real = globalThis.fetch;
  const send = async (input: string | URL | Request, init?: RequestInit) => {
    const url = input instanceof Request ? input.url : String(input);
    const body = typeof init?.body === 'string' ? init.body : '';
    const method = init?.method ?? (input instanceof Request ? input.method : 'GET');
    return await noteExchange(`${method} ${url} ${body}`, real(input, init));
  };
  globalThis.fetch = Object.assign(send, { preconnect: real.preconnect });
  const { text, json } = Response.prototype;
  Response.prototype.text = async function () {
    const read = await text.call(this);
    noteAnswer(this, () => read);
    return read;
  };
  Response.prototype.json = async function () {
    const read = await json.call(this);
    noteAnswer(this, () => JSON.stringify(read));
    return read;
  };
}

function noteAnswer(response: Response, body: () => string): void {
  const exchange = answers.get(response);
  if (exchange !== undefined) exchange.answer = shortened(`${exchange.answer} ${body()}`);
}

/** All of it as text, and forgotten; empty where nothing happened. */
export function takeRecent(): string {
  const parts = [
    ...recent.exchanges.map(({ request, answer }) => `request: ${request}\nanswer: ${answer}`),
    ...(recent.lines.length === 0 ? [] : [`last log lines:\n${recent.lines.join('\n')}`]),
    ...[...speakers].flatMap(({ name, output }) => {
      const text = output().slice(-KEPT_LINES * KEPT_CHARACTERS);
      const lines = text.trimEnd().split('\n').slice(-KEPT_LINES).map(shortened);
      return lines.join('') === '' ? [] : [`last lines of ${name}:\n${lines.join('\n')}`];
    }),
  ];
  recent.exchanges = [];
  recent.lines = [];
  for (const speaker of ended) speakers.delete(speaker);
  ended.clear();
  return parts.join('\n');
}

function shortened(text: string): string {
  return text.length <= KEPT_CHARACTERS ? text : `${text.slice(0, KEPT_CHARACTERS)}…`;
}
