import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import type { ConsoleBuild } from '../../src/backend/console-files.ts';
import { createConsoleAssets } from '../../src/domain/console-assets/console-assets.ts';
import { buildConsole } from '../../src/start/wiring/start-backend.ts';
import { type BackendUnderTest, openBackend } from '../backend/backend-under-test.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { until } from '../doubles/until.ts';
import { COMPANY, OPERATIONS, SYSTEM, singlePages } from './page-lists.ts';

const gatewayUrl = 'https://gateway.example/llm/v1';
const asPage = { accept: 'text/html,*/*;q=0.8' };

let backend: BackendUnderTest;
let built: ConsoleBuild & { outcome: 'built' };

beforeAll(async () => {
  const build = await buildConsole(createRecordingLog().log);
  if (build.outcome === 'failed') throw new Error(build.reason);
  built = build;
  backend = await openBackend({
    console: { build: Promise.resolve(build), gatewayUrl, hasDemoWorld: false },
  });
});
afterAll(() => backend.close());

const get = (path: string, headers: Record<string, string> = {}, from = backend) =>
  from.fetch(new Request(`http://backend.test${path}`, { headers }));

/** Paths whose page is that of another one. */
const SAME_PAGE = ['/calls'];

test('every page is in the lists of checked pages, at every width and with axe', async () => {
  const routes = await Bun.file(join(import.meta.dir, '../../console/routes.ts')).text();
  const paths = [...routes.matchAll(/path: '([^']+)'/g)].map(([, path = '']) => path);
  expect(paths.length).toBeGreaterThan(50);
  const ids = { jobId: 'j', talentId: 't', meetingId: 'm' };
  const looked = [...COMPANY, ...SYSTEM, ...OPERATIONS, ...singlePages(ids), '/profile'];
  const isLooked = (path: string) => {
    const form = new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}([?#].*)?$`);
    return SAME_PAGE.includes(path) || looked.some((one) => form.test(one));
  };
  expect(paths.filter((path) => !isLooked(path))).toEqual([]);
});

describe('the console’s files', () => {
  test('the shell is served at / and at any deep link a browser opens, and is never cached', async () => {
    for (const path of ['/', '/billing?checkout=success', '/keys', '/meetings/1']) {
      const answer = await get(path, asPage);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(answer.headers.get('cache-control')).toBe('no-store');
      const text = await answer.text();
      expect(text).toContain(`/assets/${built.script}`);
      expect(text).toContain(`content="${gatewayUrl}"`);
      expect(text).not.toContain('demo');
      expect(text).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=|style=/);
      expect(text).not.toMatch(/(?:src|href)="(?!\/assets\/)/);
    }
  });

  test('API routes never return a page, nor do requests that do not accept one', async () => {
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

  test('assets are named by their content, cached for ever, and compressed as the browser supports', async () => {
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

  test('the first page is under 150 kB compressed, and no page adds more than 40 kB to it', async () => {
    const texts = new Map(built.files.map(({ name, bytes }) => [name, new TextDecoder().decode(bytes)]));
    const size = (name: string) => Bun.gzipSync(texts.get(name) ?? '').length;
    /** The file and whatever it imports before it can run. */
    const withImports = (name: string, found = new Set<string>()): Set<string> => {
      if (found.has(name)) return found;
      found.add(name);
      const imports = (texts.get(name) ?? '').matchAll(/\b(?:from|import)\s*"\/assets\/([^"]+)"/g);
      for (const [, imported = ''] of imports) withImports(imported, found);
      return found;
    };
    const sum = (names: Iterable<string>) => [...names].reduce((total, name) => total + size(name), 0);
    const begun = withImports(built.script);
    const pages = [...texts.keys()].filter((name) => name.endsWith('.js') && !begun.has(name));
    expect(pages.length).toBeGreaterThan(10);
    const overview = pages.find((name) => name.startsWith('overview-')) ?? '';
    const first = sum(withImports(overview, new Set([...begun, built.style])));
    console.info(`first page of the console: ${first} bytes compressed`);
    expect(first).toBeGreaterThan(50_000);
    expect(first).toBeLessThan(150_000);
    for (const page of pages) {
      const added = sum([...withImports(page)].filter((name) => !begun.has(name)));
      expect([page, added < 40_000]).toEqual([page, true]);
    }
  });
});

describe('during a deploy', () => {
  /** A backend of another version beside the first one, on the same database. */
  async function nextVersion() {
    const bytes = new TextEncoder().encode('another version');
    const [script, style, icon] = ['main-next.js', 'main-next.css', 'icon-next.svg'] as const;
    const files = [script, style, icon].map((name) => ({ name, bytes }));
    const build = { outcome: 'built' as const, files, script, style, icon };
    const { database } = backend;
    return await openBackend({
      database,
      console: { build: Promise.resolve(build), gatewayUrl, hasDemoWorld: false },
    });
  }

  test('each backend serves the files of the other version too, so that open pages keep working', async () => {
    const next = await nextVersion();
    const page = built.files.find(({ name }) => name.endsWith('.js') && name !== built.script);
    const old = await get(`/assets/${page?.name}`, {}, next);
    expect(old.status).toBe(200);
    expect(old.headers.get('content-type')).toStartWith('text/javascript');
    expect(old.headers.get('cache-control')).toContain('immutable');
    expect(await old.bytes()).toEqual(new Uint8Array(page?.bytes ?? []));
    await until(async () => {
      await backend.clock.advance(5_000);
      return (await get('/assets/main-next.js')).status === 200;
    });
    await next.close();
  });

  test('an unknown name is a 404, and many requests for one cost one statement in five seconds', async () => {
    expect((await get('/assets/none-1.js', asPage)).status).toBe(404);
    const { database, clock } = backend;
    let statements = 0;
    const query: typeof database.query = (...asked) => {
      statements += 1;
      return database.query(...asked);
    };
    const assets = createConsoleAssets({ database: { ...database, query }, clock });
    for (let at = 0; at < 50; at += 1) expect(await assets.find(`none-${at}.js`)).toBeNull();
    expect(statements).toBe(1);
  });

  test('files of builds that no backend has started with for 14 days are removed', async () => {
    const { database, clock } = backend;
    const assets = createConsoleAssets({ database, clock });
    const bytes = new Uint8Array([1]);
    await assets.store([{ name: 'old.js', bytes }]);
    await clock.advance(13 * 86_400_000);
    await assets.store([{ name: 'new.js', bytes }]);
    expect(await assets.find('old.js')).toEqual(bytes);
    await clock.advance(2 * 86_400_000);
    await assets.store([{ name: 'new.js', bytes }]);
    expect(await assets.find('old.js')).toBeNull();
    expect(await assets.find('new.js')).toEqual(bytes);
  });
});

test('a build that fails is reported, and everything except the pages works', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'console-'));
  writeFileSync(join(folder, 'main.tsx'), "import './nowhere.ts';\n");
  const { log, entries } = createRecordingLog();
  const build = await buildConsole(log, folder);
  rmSync(folder, { recursive: true });
  expect(build.outcome).toBe('failed');
  expect(JSON.stringify(entries)).toContain('the console could not be built');
  const without = await openBackend({
    console: { build: Promise.resolve(build), gatewayUrl, hasDemoWorld: false },
  });
  const page = await get('/', asPage, without);
  expect(page.status).toBe(503);
  expect(await page.text()).toContain('could not be built');
  expect((await get('/health', {}, without)).status).toBe(200);
  await without.close();
});
