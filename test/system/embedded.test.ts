import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { statSync } from 'node:fs';
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

describe('the backend of a fresh machine', () => {
  test('P-1 /health is 200 with a status, and reports database and cache', async () => {
    const { status, json } = await get(`${running.demo.backend_url}/health`);
    expect(status).toBe(200);
    expect(json()).toEqual({
      status: 'ok',
      database: { status: 'up', latency_ms: expect.any(Number) },
      cache: { status: 'up', latency_ms: expect.any(Number) },
      journal: { status: 'up', latency_ms: expect.any(Number), set_aside: 0 },
      usage: { status: 'up', latency_ms: expect.any(Number), withheld: 0 },
    });
  });

  test('P-2 /healthz is 200 with the body ok', async () => {
    expect(await get(`${running.demo.backend_url}/healthz`)).toMatchObject({ status: 200, text: 'ok' });
  });

  test('P-6 turnpike verify-deployment passes against each of its services, with the binary too', async () => {
    const { exitCode, output } = await turnpike('verify-deployment', running.demo.backend_url);
    expect(output).toContain(`${running.demo.backend_url}/health is up after 1 of 20 attempts`);
    expect(output).toMatch(/\nok +gateway +call without a key: /);
    expect(output).toMatch(/\nok +AI service +readiness: /);
    expect(output).not.toMatch(/^(?:skipped|warn|fail)/m);
    expect(exitCode).toBe(0);
    const bin = Bun.spawn(['node', 'bin/turnpike.mjs', 'verify-deployment', running.demo.backend_url]);
    expect(await bin.exited).toBe(0);
  });
});

describe('the log of a fresh machine', () => {
  test('every line on standard output is JSON, the ready line too; scripts find the word ready on standard error', () => {
    const lines = running.system.output().split('\n').slice(0, -1);
    const messages = lines.map((line) => (JSON.parse(line) as { message: string }).message);
    expect(messages.filter((message) => message.startsWith('ready: gateway http'))).toHaveLength(1);
    expect(running.system.errors()).toMatch(/^ready: gateway http:.*, backend and console http:/);
  });
});

describe('the AI service of a fresh machine', () => {
  test('A-1 /health is healthy when live', async () => {
    const { status, json } = await get(`${running.demo.ai_url}/health`);
    expect([status, json()]).toEqual([200, { status: 'healthy' }]);
  });

  test('A-2 /health/ready has the first form with the four workers', async () => {
    const { status, json } = await get(`${running.demo.ai_url}/health/ready`);
    expect(status).toBe(200);
    expect(json()).toEqual({
      status: 'healthy',
      components: {
        database: { status: 'healthy', latency_ms: expect.any(Number) },
        cache: { status: 'healthy', latency_ms: expect.any(Number) },
        workers: {
          ...{ status: 'healthy', active: expect.any(Number), idle: expect.any(Number) },
          states: {
            match_score_generator: expect.stringMatching(/^(running|processing)$/),
            email_worker: expect.stringMatching(/^(running|processing)$/),
            cv_worker: expect.stringMatching(/^(running|processing)$/),
            document_worker: expect.stringMatching(/^(running|processing)$/),
          },
        },
        circuit_breakers: {},
        journal: { status: 'healthy', set_aside: 0 },
        usage: { status: 'healthy', withheld: 0 },
        model_targets: { status: 'healthy', cooling: 0 },
        match_score_generator: 'healthy',
        email_worker: 'healthy',
        cv_worker: 'healthy',
        document_worker: 'healthy',
      },
    });
  });

  test('A-2 ?form=flat gives the second form exactly', async () => {
    const { json } = await get(`${running.demo.ai_url}/health/ready?form=flat`);
    expect(json()).toEqual({
      status: 'healthy',
      components: {
        database: 'healthy',
        match_score_generator: 'healthy',
        email_worker: 'healthy',
        cv_worker: 'healthy',
        document_worker: 'healthy',
      },
    });
  });

  test('A-3 /health/database reports connectivity and the pool', async () => {
    const ask = () => get(`${running.demo.ai_url}/health/database`);
    const { status, json } = await ask();
    expect(status).toBe(200);
    const pool = { size: 1, busy: expect.any(Number), waiting: expect.any(Number) };
    expect(json()).toEqual({ status: 'healthy', latency_ms: expect.any(Number), pool });
    // A background job may wait for the one connection at any moment, but none is left waiting.
    await until(async () => (await ask()).json().pool.waiting === 0);
  });

  test('A-4 /health/live is 200', async () => {
    expect((await get(`${running.demo.ai_url}/health/live`)).status).toBe(200);
  });

  test('A-6 its internal routes answer 401 without the token of demo.json, 200 with it', async () => {
    const route = `${running.demo.ai_url}/monitoring/app-logs`;
    expect(await get(route)).toMatchObject({ status: 401 });
    const { status, json } = await get(route, { authorization: `Bearer ${running.demo.internal_token}` });
    expect(status).toBe(200);
    expect(json()).toMatchObject({ entries: expect.any(Array) });
  });
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
    const secrets = [
      running.demo.api_key,
      running.demo.full_key,
      running.demo.internal_token,
      running.demo.webhook_secret,
      running.demo.jwt_secret,
    ];
    const passwords = [running.demo.super_admin.password, running.demo.company_admin.password];
    for (const secret of [...secrets, ...passwords]) {
      expect(running.system.output() + running.system.errors()).not.toContain(secret);
    }
  });
});

describe('the command line beside the running process', () => {
  test('uses its socket: a super admin is created once', async () => {
    const first = await turnpike('create-super-admin', 'first@operator.example');
    expect(first).toMatchObject({ exitCode: 0, output: expect.stringContaining('is a super admin') });
    const second = await turnpike('create-super-admin', 'FIRST@operator.example');
    expect(second).toMatchObject({ exitCode: 1, errors: expect.stringContaining('has an account already') });
  });

  test('P-8 issues an access token with the documented claims, signed with the secret of demo.json', async () => {
    const { exitCode, output } = await turnpike('issue-token', running.demo.company_admin.email);
    expect(exitCode).toBe(0);
    const secret = new TextEncoder().encode(running.demo.jwt_secret);
    const { payload, protectedHeader } = await jwtVerify(output.trim(), secret, { algorithms: ['HS256'] });
    expect(protectedHeader.alg).toBe('HS256');
    expect(Object.keys(payload).sort()).toEqual(['email', 'exp', 'iat', 'sub']);
    expect(payload.email).toBe(running.demo.company_admin.email);
    expect(await turnpike('issue-token', 'nobody@x.example')).toMatchObject({ exitCode: 1 });
  });

  test('wrong arguments exit with code 2 and name the right ones', async () => {
    expect(await turnpike('no-such-command')).toMatchObject({ exitCode: 2 });
    expect(await turnpike('create-super-admin')).toMatchObject({ exitCode: 2 });
    expect(await turnpike('verify-deployment', 'nonsense')).toMatchObject({ exitCode: 2 });
    expect(await turnpike('help')).toMatchObject({ exitCode: 0 });
    expect(await turnpike('help', 'settings')).toMatchObject({ exitCode: 0, errors: '' });
    const unknown =
      'turnpike: there is no command keyz. Did you mean keys? "turnpike help" lists all of them.\n';
    expect(await turnpike('help', 'keyz')).toMatchObject({ exitCode: 2, errors: unknown });
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
