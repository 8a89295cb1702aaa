import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import type { ConsoleBuild } from '../../src/backend/console-files.ts';
import { buildConsole } from '../../src/start/wiring/start-backend.ts';
import { type BackendUnderTest, openBackend } from '../backend/backend-under-test.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';

const FIRST_LOAD_BYTES = 200 * 1024;
const gatewayUrl = 'https://gateway.example/llm/v1';
const asPage = { accept: 'text/html,*/*;q=0.8' };

let backend: BackendUnderTest;
let built: ConsoleBuild & { outcome: 'built' };

beforeAll(async () => {
  const build = await buildConsole(createRecordingLog().log);
  if (build.outcome === 'failed') throw new Error(build.reason);
  built = build;
  backend = await openBackend({ console: { build: Promise.resolve(build), gatewayUrl } });
});
afterAll(() => backend.close());

const get = (path: string, headers: Record<string, string> = {}, from = backend) =>
  from.fetch(new Request(`http://backend.test${path}`, { headers }));

describe('the console’s files', () => {
  test('the shell comes at / and at any deep link a browser opens, and is never kept', async () => {
    for (const path of ['/', '/billing?checkout=success', '/keys', '/meetings/1']) {
      const answer = await get(path, asPage);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const text = await answer.text();
      expect(text).toContain(`/assets/${built.script}`);
      expect(text).toContain(`content="${gatewayUrl}"`);
    }
  });

  test('what machines call never gets a page, nor does who did not ask for one', async () => {
    for (const path of [
      '/health/x',
      '/payments/webhook',
      '/session/login',
      '/assets/none.js',
      '/graphql/x',
    ]) {
      const answer = await get(path, asPage);
      expect([path, answer.status]).toEqual([path, 404]);
      expect(answer.headers.get('content-type')).toStartWith('application/json');
    }
    expect((await get('/keys', { accept: 'application/json' })).status).toBe(404);
    expect((await get('/health', asPage)).headers.get('content-type')).toStartWith('application/json');
    expect((await get('/graphql', asPage)).headers.get('content-security-policy')).not.toContain(
      'script-src',
    );
  });

  test('the policy allows no inline script and no place but the backend and the gateway', async () => {
    const answer = await get('/', asPage);
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("connect-src 'self' wss://console.example https://gateway.example;");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    const text = await answer.text();
    expect(text).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=|style=/);
    expect(text).not.toMatch(/(?:src|href)="(?!\/assets\/)/);
  });

  test('assets are named by their content, kept for ever, and compressed as the browser can', async () => {
    const path = `/assets/${built.script}`;
    const plain = await get(path);
    expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(plain.headers.get('content-type')).toStartWith('text/javascript');
    expect(plain.headers.get('content-encoding')).toBeNull();
    const whole = await plain.text();
    const small = await get(path, { 'accept-encoding': 'gzip, deflate, br' });
    expect(small.headers.get('content-encoding')).toBe('br');
    expect(small.headers.get('vary')).toContain('accept-encoding');
    expect(brotliDecompressSync(await small.bytes()).toString()).toBe(whole);
    const zipped = await get(path, { 'accept-encoding': 'gzip' });
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(new TextDecoder().decode(Bun.gunzipSync(await zipped.bytes()))).toBe(whole);
  });

  test('the first load stays under 200 KB compressed, whatever page it is', async () => {
    const sizes = built.files.map(({ bytes }) => Bun.gzipSync(bytes).length);
    const first = built.files.filter(({ name }) => name === built.script || name === built.style);
    const pageCode = built.files.filter(({ name }) => name !== built.script && name.endsWith('.js'));
    expect(pageCode.length).toBeGreaterThan(10);
    expect(first.length).toBe(2);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(FIRST_LOAD_BYTES);
  });
});

test('a build that fails names itself, and everything but the pages works', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'console-'));
  writeFileSync(join(folder, 'main.tsx'), "import './nowhere.ts';\n");
  const { log, entries } = createRecordingLog();
  const build = await buildConsole(log, folder);
  rmSync(folder, { recursive: true });
  expect(build.outcome).toBe('failed');
  expect(JSON.stringify(entries)).toContain('the console could not be built');
  const without = await openBackend({ console: { build: Promise.resolve(build), gatewayUrl } });
  const page = await get('/', asPage, without);
  expect(page.status).toBe(503);
  expect(await page.text()).toContain('could not be built');
  expect((await get('/health', {}, without)).status).toBe(200);
  await without.close();
});
