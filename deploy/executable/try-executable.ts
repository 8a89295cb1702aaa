import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const START_MS = 180_000;
const STOP_MS = 30_000;

interface Demo {
  readonly gateway_url: string;
  readonly backend_url: string;
  readonly ai_url: string;
  readonly full_key: string;
}

/**
 * Starts it where nothing else of ours is, on the embedded parts, and asks for what needs a thread, a child process or a
 * file beside the sources: the database, the embeddings, a document, the console and the API's page. Then it must
 * stop by itself.
 */
export async function tryExecutable(executable: string, tell: (line: string) => void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-tried-'));
  const dataDir = join(folder, 'data');
  const env = {
    PATH: '/usr/bin:/bin',
    TURNPIKE_UNPACKED: join(folder, 'unpacked'),
    DATA_DIR: dataDir,
    ...{ GATEWAY_PORT: '0', BACKEND_PORT: '0', AI_PORT: '0', SANDBOX_PORT: '0', LOG_LEVEL: 'warn' },
  };
  const child = Bun.spawn([executable, 'serve'], { cwd: folder, env, stdout: 'pipe', stderr: 'inherit' });
  try {
    const startedMs = performance.now();
    await within(START_MS, 'it did not become ready', readyLine(child.stdout));
    tell(`first start: ready after ${Math.round(performance.now() - startedMs)} ms`);
    const demo = (await Bun.file(join(dataDir, 'demo.json')).json()) as Demo;
    await askForEverything(demo, tell);
    const audit = Bun.spawn([executable, 'audit'], { cwd: folder, env, stdout: 'ignore', stderr: 'inherit' });
    if ((await audit.exited) !== 0) throw new Error('the audit of the executable failed');
    tell('its command line: the audit is clean');
    // A terminal, systemd and npm signal more than once: within two seconds that counts as one.
    for (const signal of ['SIGTERM', 'SIGTERM', 'SIGINT'] as const) {
      child.kill(signal);
      await Bun.sleep(50);
    }
    const exitCode = await within(STOP_MS, 'it did not stop', child.exited);
    if (exitCode !== 0) throw new Error(`it stopped with ${exitCode}`);
    tell('stopped by repeated signals with 0');
  } finally {
    child.kill('SIGKILL');
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  }
}

async function askForEverything(demo: Demo, tell: (line: string) => void): Promise<void> {
  const { gateway_url: gateway, backend_url: backend, ai_url: ai } = demo;
  const headers = { authorization: `Bearer ${demo.full_key}`, 'content-type': 'application/json' };
  const post = (path: string, body: object) =>
    ask(gateway + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const messages = [{ role: 'user', content: 'Hello' }];
  const text = 'Ada Byron\nEngineer at Analytical Engines, 2019 to 2024\nSkills: mathematics, weaving';
  const file = { name: 'cv.txt', content_base64: new TextEncoder().encode(text).toBase64() };
  const asked: [string, () => Promise<string>][] = [
    ['the gateway', () => ask(new URL('/healthz', gateway).href)],
    ['the backend', () => ask(`${backend}/health`)],
    ['the AI service', () => ask(`${ai}/health/ready`)],
    ['the console', () => ask(`${backend}/`)],
    ['the page of the API', () => ask(`${ai}/docs`)],
    ['a chat', () => post('/chat/completions', { model: 'svc/chat-default', messages, max_tokens: 5 })],
    ['embeddings', () => post('/embeddings', { model: 'svc/embed-default', input: 'Hello' })],
    ['a document', () => post('/parse/cv', { file })],
  ];
  for (const [name, asking] of asked) {
    const answer = await asking();
    if (answer === '') throw new Error(`${name} answered nothing`);
    tell(`${name}: answered`);
  }
}

async function ask(url: string, init: RequestInit = {}): Promise<string> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 300)}`);
  return text;
}

async function readyLine(output: ReadableStream<Uint8Array>): Promise<void> {
  let seen = '';
  const decoder = new TextDecoder();
  for await (const bytes of output) {
    seen += decoder.decode(bytes, { stream: true });
    if (/^ready|"message":"ready/m.test(seen)) return;
  }
  throw new Error(`it ended before it was ready: ${seen.slice(-500)}`);
}

async function within<T>(ms: number, problem: string, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(problem)), ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
