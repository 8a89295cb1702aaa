import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jwtVerify } from 'jose';
import { isWellFormed } from '../../src/domain/keys/api-key.ts';
import { until } from '../doubles/until.ts';
import { useSystem } from '../setup/use-system.ts';
import { docBlocks } from './doc-examples.ts';
import { type DocWorld, openDocWorld, runBlock, unusedExceptions } from './run-doc-examples.ts';
import { startProcess } from './running-system.ts';

const running = useSystem();

async function get(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  const text = await response.text();
  return { status: response.status, text, json: () => JSON.parse(text) };
}

async function turnpike(...words: string[]) {
  const command = startProcess('turnpike.ts', words, { DATA_DIR: running.system.dataDir });
  return { exitCode: await command.exited, output: command.output(), errors: command.errors() };
}

const UP = { status: 'up', latency_ms: expect.any(Number) };
const HEALTHY = { status: 'healthy', latency_ms: expect.any(Number) };
const WORKERS = ['match_score_generator', 'email_worker', 'cv_worker', 'document_worker'];
const ofWorkers = (value: unknown) => Object.fromEntries(WORKERS.map((name) => [name, value]));

describe('the health of a fresh machine', () => {
  test('P-1 P-2 the backend reports database and cache, and is alive', async () => {
    const { status, json } = await get(`${running.demo.backend_url}/health`);
    expect([status, json()]).toEqual([
      200,
      {
        ...{ status: 'ok', database: UP, cache: UP },
        journal: { ...UP, set_aside: 0 },
        usage: { ...UP, withheld: 0 },
        secrets: { ...UP, unreadable: 0 },
      },
    ]);
    expect(await get(`${running.demo.backend_url}/healthz`)).toMatchObject({ status: 200, text: 'ok' });
  });

  test('A-1 A-2 A-4 the AI service is live, and ready in both forms, with its four workers', async () => {
    const ai = running.demo.ai_url;
    expect((await get(`${ai}/health`)).json()).toEqual({ status: 'healthy' });
    expect((await get(`${ai}/health/live`)).status).toBe(200);
    expect((await get(`${ai}/health/ready`)).json()).toEqual({
      status: 'healthy',
      components: {
        ...{ database: HEALTHY, cache: HEALTHY, circuit_breakers: {} },
        workers: {
          ...{ status: 'healthy', active: expect.any(Number), idle: expect.any(Number) },
          states: ofWorkers(expect.stringMatching(/^(running|processing)$/)),
        },
        journal: { status: 'healthy', set_aside: 0 },
        usage: { status: 'healthy', withheld: 0 },
        secrets: { status: 'healthy', unreadable: 0 },
        model_targets: { status: 'healthy', cooling: 0 },
        ...ofWorkers('healthy'),
      },
    });
    expect((await get(`${ai}/health/ready?form=flat`)).json()).toEqual({
      status: 'healthy',
      components: { database: 'healthy', ...ofWorkers('healthy') },
    });
  });

  test('A-3 /health/database reports connectivity and the pool', async () => {
    const ask = () => get(`${running.demo.ai_url}/health/database`);
    const pool = { size: 1, busy: expect.any(Number), waiting: expect.any(Number) };
    expect((await ask()).json()).toEqual({ ...HEALTHY, pool });
    // A background job may wait for the one connection at any moment, but none is left waiting.
    await until(async () => (await ask()).json().pool.waiting === 0);
  });

  test('A-6 internal routes of the AI service answer 401 without the token of demo.json, 200 with it', async () => {
    const route = `${running.demo.ai_url}/monitoring/app-logs`;
    expect(await get(route)).toMatchObject({ status: 401 });
    const headers = { authorization: `Bearer ${running.demo.internal_token}` };
    expect((await get(route, headers)).json()).toMatchObject({ entries: expect.any(Array) });
  });
});

test('every line of the log is JSON, the ready line too; scripts find the word ready on standard error', () => {
  const lines = running.system.output().split('\n').slice(0, -1);
  const messages = lines.map((line) => (JSON.parse(line) as { message: string }).message);
  expect(messages.filter((message) => message.startsWith('ready: gateway http'))).toHaveLength(1);
  expect(running.system.errors()).toMatch(/^ready: gateway http:.*, backend and console http:/);
});

describe('demo.json', () => {
  test('has every agreed name and is readable by its owner only', () => {
    expect(running.demo).toEqual({
      gateway_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/llm\/v1$/),
      backend_url: expect.stringMatching(/^http:/),
      ai_url: expect.stringMatching(/^http:/),
      console_url: expect.stringMatching(/^http:/),
      sandbox_url: expect.stringMatching(/^http:/),
      api_key: expect.any(String),
      full_key: expect.any(String),
      internal_token: expect.any(String),
      webhook_secret: expect.stringMatching(/^whsec_/),
      jwt_secret: expect.any(String),
      company_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      super_admin: { email: expect.stringContaining('@'), password: expect.any(String) },
      company_admin: { email: expect.stringContaining('@'), password: expect.any(String) },
    });
    expect(isWellFormed(running.demo.api_key) && isWellFormed(running.demo.full_key)).toBe(true);
    for (const file of ['demo.json', 'secrets.json', 'control.sock']) {
      expect(statSync(join(running.system.dataDir, file)).mode & 0o777).toBe(0o600);
    }
  });

  test('no secret of it reaches the log', () => {
    const { api_key, full_key, internal_token, webhook_secret, jwt_secret, ...rest } = running.demo;
    const passwords = [rest.super_admin.password, rest.company_admin.password];
    for (const secret of [api_key, full_key, internal_token, webhook_secret, jwt_secret, ...passwords])
      expect(running.system.output() + running.system.errors()).not.toContain(secret);
  });
});

describe('the command line beside the running process', () => {
  test('P-6 verify-deployment passes against each of its services, with a call to a model', async () => {
    const keyFile = join(running.system.dataDir, 'verify.key');
    writeFileSync(keyFile, running.demo.full_key);
    const words = ['verify-deployment', running.demo.backend_url, '--key-file', keyFile];
    const env = { ...process.env, DATA_DIR: running.system.dataDir };
    const command = Bun.spawn(['node', 'bin/turnpike.mjs', ...words], { env, stdout: 'pipe' });
    const output = await new Response(command.stdout).text();
    expect(output).toContain(`${running.demo.backend_url}/health is up after 1 of 20 attempts`);
    expect(output).toMatch(/\nok +gateway +call without a key: /);
    expect(output).toMatch(/\nok +gateway +model call: .* answered\./);
    expect(output).toMatch(/\nok +AI service +readiness: /);
    expect(output).not.toMatch(/^(?:skipped|warn|fail)/m);
    expect(await command.exited).toBe(0);
  });

  test('uses its socket, and exits with the code of the outcome', async () => {
    const first = await turnpike('create-super-admin', 'first@operator.example');
    expect(first).toMatchObject({ exitCode: 0, output: expect.stringContaining('is a super admin') });
    const second = await turnpike('create-super-admin', 'FIRST@operator.example');
    expect(second).toMatchObject({ exitCode: 1, errors: expect.stringContaining('has an account already') });
    const unknown =
      'turnpike: there is no command keyz. Did you mean keys? "turnpike help" lists all of them.\n';
    expect(await turnpike('help', 'keyz')).toMatchObject({ exitCode: 2, errors: unknown });
  });

  test('P-8 issues an access token with the documented claims, signed with the secret of demo.json', async () => {
    const { exitCode, output } = await turnpike('issue-token', running.demo.company_admin.email);
    expect(exitCode).toBe(0);
    const secret = new TextEncoder().encode(running.demo.jwt_secret);
    const { payload, protectedHeader } = await jwtVerify(output.trim(), secret, { algorithms: ['HS256'] });
    expect(protectedHeader.alg).toBe('HS256');
    expect(Object.keys(payload).sort()).toEqual(['email', 'exp', 'iat', 'sub']);
    expect(payload.email).toBe(running.demo.company_admin.email);
  });

  test('a second system on the same folder is refused in one line, and the first is not affected', async () => {
    const second = startProcess('everything.ts', [], { DATA_DIR: running.system.dataDir });
    expect(await second.exited).toBe(1);
    expect(second.errors()).toBe(
      `turnpike: DATA_DIR ${running.system.dataDir} is in use by process ${running.system.pid}: ` +
        'stop it, or name another folder\n',
    );
    expect((await get(`${running.demo.backend_url}/health`)).json().status).toBe('ok');
  });
});

/** Commands of operators change keys, aliases and super admins, so the documents are run last. */
describe('every example of the documents runs', () => {
  let world: DocWorld;
  beforeAll(async () => {
    world = await openDocWorld(running.system.dataDir, running.demo);
  });
  afterAll(async () => {
    await world.close();
  });

  test.each(docBlocks().map((block) => [block.place, block] as const))('%s', async (_, block) => {
    expect(await runBlock(world, block)).toEqual([]);
  });

  test('and every example listed as not run exists', () => {
    expect(unusedExceptions(docBlocks())).toEqual([]);
  });
});
