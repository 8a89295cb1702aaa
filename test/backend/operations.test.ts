import { beforeAll, describe, expect, test } from 'bun:test';
import { readQueueDepths } from '../../src/adapters/job-queue/boss-tables.ts';
import { openJobQueue } from '../../src/adapters/job-queue/pg-boss.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { createBreakers } from '../../src/domain/breakers/breakers.ts';
import { createJobRates } from '../../src/domain/processes/job-rates.ts';
import {
  type ProcessReport,
  type ServiceName,
  storeProcessReport,
} from '../../src/domain/processes/service-processes.ts';
import type { JobQueue } from '../../src/ports/job-queue.ts';
import type { SharedState } from '../../src/ports/shared-state.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { useDatabase } from '../setup/use-database.ts';
import { useResource } from '../setup/use-resource.ts';
import { type BackendUnderTest, openBackend } from './backend-under-test.ts';

const HOST = 'models.example';

describe('running processes', () => {
  const REPORT: ProcessReport = {
    parts: [
      { name: 'database', status: 'up', latencyMs: 2 },
      { name: 'cv_worker', status: 'running', latencyMs: null },
    ],
    ...{ cpuSeconds: 3, residentBytes: 90_000_000, eventLoopDelayMs: 1.5, workers: { active: 1, idle: 4 } },
    breakers: {},
    jobRates: { mail: { donePerMinute: 2.4, failedPerMinute: 0 } },
  };
  const QUEUE = { name: 'mail', retries: 0, retryDelaySeconds: 0, retryDelayMaxSeconds: 0 };

  let backend: BackendUnderTest;
  let jobQueue: JobQueue;
  let sharedState: SharedState;
  const database = useDatabase({ beforeClose: () => jobQueue?.stop(0) });
  beforeAll(async () => {
    const log = createSilentLog();
    jobQueue = await openJobQueue({ database, log });
    await jobQueue.define({ ...QUEUE, runSeconds: 60, heartbeatSeconds: 10 });
    sharedState = createInProcessState({ clock: createManualClock(), log });
    const queues = { ...jobQueue, depths: () => readQueueDepths(database) };
    backend = await openBackend({ database, queues, sharedState });
  });

  const ask = <Data>(query: string, variables?: object) =>
    backend.people.superAdmin.ask<Data>(query, variables);
  const refusal = async (query: string) => (await backend.people.superAdmin.refusal(query)).extensions.code;

  async function tell(services: readonly ServiceName[], report = REPORT, seenAtMs = backend.clock.now()) {
    const name = { id: backend.parts.secrets.newId(), services, host: 'node-1', pid: 42, version: '9.9.9' };
    const startedAt = new Date(seenAtMs - 90_000);
    await storeProcessReport(backend.database, { ...name, startedAt }, report, seenAtMs);
  }

  describe('processes as shown to operators', () => {
    test('P-15 each process is shown with its version, uptime and parts; one without a heartbeat is stale', async () => {
      await tell(['gateway', 'backend']);
      await tell(['ai-service'], REPORT, backend.clock.now() - 30_000);
      const disk = { usedBytes: 5, totalBytes: 10 };
      const machine = {
        cpuCount: 8,
        cpuUsedShare: 0.25,
        load1: 2,
        memoryBytes: 4e9,
        memoryUsedBytes: 1e9,
        disk,
      };
      const down = { name: 'cache', status: 'down', latencyMs: 1_000 } as const;
      await tell(['gateway'], { ...REPORT, machine, parts: [down] });
      const { serviceProcesses } = await ask<{ serviceProcesses: { services: string[] }[] }>(
        `{ serviceProcesses { services host pid version uptimeSeconds isStale isReady activeJobs idleWorkers
        machine { cpuCount cpuUsedShare memoryBytes memoryUsedBytes diskUsedBytes diskBytes } parts { name status latencyMs } } }`,
      );
      const known = { host: 'node-1', pid: 42, version: '9.9.9', uptimeSeconds: 90 };
      const found = (services: string) => serviceProcesses.find((one) => one.services.join() === services);
      expect(found('gateway,backend')).toMatchObject({
        ...{ ...known, isStale: false, isReady: true, activeJobs: 1, idleWorkers: 4, machine: null },
        parts: [
          { name: 'database', status: 'UP', latencyMs: 2 },
          { name: 'cv_worker', status: 'RUNNING', latencyMs: null },
        ],
      });
      expect(found('ai-service')).toMatchObject({ ...known, isStale: true, isReady: false });
      expect(found('gateway')).toMatchObject({
        ...{ isStale: false, isReady: false, parts: [{ status: 'DOWN' }] },
        machine: { cpuCount: 8, cpuUsedShare: 0.25, memoryBytes: 4e9, diskUsedBytes: 5, diskBytes: 10 },
      });
      expect(serviceProcesses.at(-1)?.services).toEqual(['ai-service']);
    });
  });

  describe('breakers', () => {
    const LOOK = `{ circuitBreakers { service state failuresInARow aliases lastErrorReason nextTryAt } }`;

    test('A-15 every service is shown with its shared state, and a reset closes it in every process', async () => {
      await ask(`mutation { setAliasTargets(alias: "svc/chat-default",
      targets: [{ baseUrl: "https://${HOST}/v1", model: "m", weight: 1 }]) { alias } }`);
      const closed = { service: HOST, state: 'CLOSED', aliases: ['svc/chat-default'], nextTryAt: null };
      expect(await ask(LOOK)).toMatchObject({ circuitBreakers: [{ ...closed, failuresInARow: 0 }] });
      // A process that calls models, which this backend does not.
      const breakers = await createBreakers({ sharedState, clock: backend.clock, log: createSilentLog() });
      for (let failure = 0; failure < 5; failure += 1) {
        const entry = await breakers.enter(HOST);
        if (entry.outcome === 'enter') entry.report({ failure: '503' });
      }
      await until(async () => (await sharedState.get(`breaker:${HOST}`)) !== null);
      const until60 = new Date(backend.clock.now() + 60_000).toISOString();
      const open = { service: HOST, state: 'OPEN', lastErrorReason: '503', nextTryAt: until60 };
      expect(await ask(LOOK)).toMatchObject({ circuitBreakers: [open] });
      await backend.clock.advance(60_000);
      expect(await ask(LOOK)).toMatchObject({ circuitBreakers: [{ ...open, state: 'HALF_OPEN' }] });
      const reset = `mutation { resetCircuitBreaker(service: "${HOST}") { state } }`;
      expect(await ask(reset)).toEqual({ resetCircuitBreaker: { state: 'CLOSED' } });
      await until(() => breakers.states()[HOST] === 'closed');
      expect(await ask(LOOK)).toMatchObject({ circuitBreakers: [{ ...closed, lastErrorReason: '503' }] });
      expect(await refusal(reset)).toBe('CONFLICT');
      expect(await refusal('mutation { resetCircuitBreaker(service: "stranger.example") { state } }')).toBe(
        'NOT_FOUND',
      );
      expect(await ask('{ auditLog(first: 1) { nodes { action objectId } } }')).toEqual({
        auditLog: { nodes: [{ action: 'breaker.reset', objectId: HOST }] },
      });
      await breakers.close();
    });
  });

  test('A-15 providers that are no longer configured are not listed; targets are listed while they cool down', async () => {
    const closed = { state: 'closed', failuresInARow: 0, lastError: null, nextTryAtMs: null } as const;
    const cools = (model: string, forMs: number) => {
      return { alias: 'svc/chat-default', model, reason: '429', untilMs: backend.clock.now() + forMs };
    };
    await tell(['gateway'], {
      ...REPORT,
      breakers: {
        'gone.example': { ...closed, state: 'open', nextTryAtMs: backend.clock.now() + 60_000 },
        [HOST]: { ...closed, cooling: [cools('m', 5_000), cools('n', -1)] },
        match_score_generator: closed,
      },
    });
    await tell(['ai-service'], {
      ...REPORT,
      breakers: { [HOST]: { ...closed, cooling: [cools('m', 9_000)] } },
    });
    const LOOK = '{ circuitBreakers { service cooling { alias model status until } } }';
    const until9 = new Date(backend.clock.now() + 9_000).toISOString();
    const cooling = [{ alias: 'svc/chat-default', model: 'm', status: 429, until: until9 }];
    expect(await ask(LOOK)).toEqual({
      circuitBreakers: [
        { service: 'match_score_generator', cooling: [] },
        { service: HOST, cooling },
      ],
    });
    type Aliases = { modelAliases: { alias: string; targets: { id: string }[] }[] };
    const READ = `{ modelAliases { alias targets { id
      health { state coolingStatus coolingUntil recentFailures lastFailureReason lastFailureAt } } } }`;
    const target = async () =>
      (await ask<Aliases>(READ)).modelAliases.find(({ alias }) => alias === 'svc/chat-default')?.targets[0];
    const targetId = (await target())?.id;
    const now = backend.clock.now();
    for (const [agoMs, reason] of [
      [90_000_000, 'late'],
      [2_000, '503'],
      [1_000, '429'],
    ] as const) {
      await backend.database.query(
        `insert into log_entries (timestamp, level, message, context) values ($1, 'warn', 'a model target failed', $2)`,
        [new Date(now - agoMs), { targetId, reason }],
      );
    }
    expect(await target()).toMatchObject({
      health: {
        ...{ state: 'CLOSED', coolingStatus: 429, coolingUntil: until9, recentFailures: 2 },
        ...{ lastFailureReason: '429', lastFailureAt: new Date(now - 1_000).toISOString() },
      },
    });
    await backend.database.query(`delete from log_entries where message = 'a model target failed'`);
    await backend.database.query('delete from service_processes');
  });

  describe('queues', () => {
    type Letters = {
      deadLetters: { nodes: { id: string; error: string; data: object }[]; pageInfo: { endCursor: string } };
    };
    const LETTERS = `query($after: ID) { deadLetters(queue: "mail", first: 2, after: $after) {
    nodes { id error data } pageInfo { hasNextPage endCursor } } }`;

    test('A-13 depth, rate and dead letters are shown; letters are redriven or deleted, and both are recorded', async () => {
      const rates = createJobRates(backend.clock);
      for (let mailId = 1; mailId <= 3; mailId += 1) {
        await jobQueue.enqueue('mail', { mailId, text: 'x'.repeat(500) });
      }
      const worker = await rates.counted(jobQueue).work('mail', { concurrency: 3 }, async ({ data }) => {
        throw new Error(`no server for ${data.mailId}`);
      });
      await until(async () => (await jobQueue.counts('mail')).dead === 3);
      await worker.stop();
      await tell(['ai-service'], { ...REPORT, jobRates: rates.read() });
      const { workQueues } = await ask<{ workQueues: object[] }>(
        '{ workQueues { name waiting active dead processes donePerMinute failedPerMinute oldestWaitingSeconds } }',
      );
      expect(workQueues).toEqual([
        {
          ...{ name: 'mail', waiting: 0, active: 0, dead: 3, oldestWaitingSeconds: null },
          ...{ processes: 1, donePerMinute: 0, failedPerMinute: 3 },
        },
      ]);
      const first = (await ask<Letters>(LETTERS)).deadLetters;
      const second = (await ask<Letters>(LETTERS, { after: first.pageInfo.endCursor })).deadLetters;
      const letters = [...first.nodes, ...second.nodes];
      expect(letters.map(({ error }) => error).toSorted()).toEqual(
        [1, 2, 3].map((mailId) => `no server for ${mailId}`),
      );
      expect(second).toMatchObject({ pageInfo: { hasNextPage: false }, nodes: [{ data: {} }] });
      // Long values may be a person's words.
      for (const { data } of letters) expect(Object.keys(data)).toEqual(['mailId']);
      const [one, two] = letters.map(({ id }) => id);
      const named = (name: string, ids: string) => `mutation { ${name}(queue: "mail"${ids}) }`;
      expect(await ask(named('redriveDeadLetters', `, ids: ["${one}"]`))).toEqual({ redriveDeadLetters: 1 });
      expect(await ask(named('redriveDeadLetters', `, ids: ["${one}"]`))).toEqual({ redriveDeadLetters: 0 });
      expect(await ask(named('deleteDeadLetters', `, ids: ["${two}"]`))).toEqual({ deleteDeadLetters: 1 });
      expect(await ask(named('redriveDeadLetters', ''))).toEqual({ redriveDeadLetters: 1 });
      expect(await jobQueue.counts('mail')).toEqual({ waiting: 2, active: 0, dead: 0 });
      expect(await refusal(named('deleteDeadLetters', ', ids: ["no such"]'))).toBe('NOT_FOUND');
      expect(await refusal('{ deadLetters(queue: "nothing") { nodes { id } } }')).toBe('NOT_FOUND');
      expect(await refusal('{ deadLetters(queue: "mail", after: "7.x") { nodes { id } } }')).toBe(
        'BAD_USER_INPUT',
      );
      expect(await ask('{ auditLog(first: 3) { nodes { action objectId details } } }')).toMatchObject({
        auditLog: {
          nodes: ['redriven', 'deleted', 'redriven'].map((what) => ({
            ...{ action: `dead-letters.${what}`, objectId: 'mail', details: { count: 1 } },
          })),
        },
      });
    });
  });
});

describe('history for operators', () => {
  const backend = useResource(() => openBackend());

  const ask = <Data>(query: string) => backend.people.superAdmin.ask<Data>(query);
  const refusal = async (query: string) => (await backend.people.superAdmin.refusal(query)).extensions.code;
  const now = () => new Date(backend.clock.now());

  describe('AI operations and errors', () => {
    interface Answered {
      readonly targetId?: string;
      readonly alias?: string;
      readonly servedBy?: string;
      readonly firstByteMs?: number;
      readonly cacheHit?: boolean;
    }

    async function addCall(
      endpoint: string,
      outcome: string,
      durationMs: number,
      agoMs: number,
      { targetId, alias, servedBy, firstByteMs, cacheHit }: Answered = {},
    ) {
      const startedAt = new Date(backend.clock.now() - agoMs);
      const hex = startedAt.getTime().toString(16).padStart(12, '0');
      const id = `${hex.slice(0, 8)}-${hex.slice(8)}${backend.parts.secrets.newId().slice(13)}`;
      await backend.database.query(
        `insert into calls (id, company_id, request_id, endpoint, outcome, http_status, streamed, estimated_tokens,
         started_at, duration_ms, target_id, alias, served_by, first_byte_ms, cache_hit)
         values ($1, $2, 'req_7', $3, $4, 200, false, 0, $5, $6, $7, $8, $9, $10, $11)`,
        [
          ...[id, backend.companies.acme, endpoint, outcome, startedAt, durationMs],
          ...[targetId, alias, servedBy, firstByteMs, cacheHit].map((value) => value ?? null),
        ],
      );
    }

    test('A-8 operations are listed by kind, outcome and time, and counted with percentiles', async () => {
      for (const durationMs of [100, 200, 300]) await addCall('parse/cv', 'SUCCEEDED', durationMs, 1_000);
      await addCall('chat/completions', 'FAILED', 50, 5 * 3_600_000);
      const list = (args: string) => ask(`{ aiOperations(${args}) { nodes { kind } } }`);
      const [cv, chat] = [{ kind: 'parse/cv' }, { kind: 'chat/completions' }];
      expect(await list('hours: 2, first: 1')).toEqual({ aiOperations: { nodes: [cv] } });
      expect(await list('outcome: FAILED')).toEqual({ aiOperations: { nodes: [chat] } });
      const before = new Date(backend.clock.now() - 3_600_000).toISOString();
      expect(await list(`to: "${before}"`)).toEqual({ aiOperations: { nodes: [chat] } });
      expect(await list(`to: "${before}", kind: "parse/cv"`)).toEqual({ aiOperations: { nodes: [] } });
      expect(await ask('{ aiOperationStats(hours: 6) { kind outcome count p50Ms p95Ms p99Ms } }')).toEqual({
        aiOperationStats: [
          { kind: 'chat/completions', outcome: 'FAILED', count: 1, p50Ms: 50, p95Ms: 50, p99Ms: 50 },
          { kind: 'parse/cv', outcome: 'SUCCEEDED', count: 3, p50Ms: 200, p95Ms: 290, p99Ms: 298 },
        ],
      });
      for (const args of ['hours: 169', 'from: "2001-01-01"', 'from: "2901-01-01"', 'to: "1970-01-01"']) {
        expect(await refusal(`{ aiOperations(${args}) { nodes { id } } }`)).toBe('BAD_USER_INPUT');
      }
    });

    test('A-8 targets are listed by how soon their answers begin, the slowest first, without failures and cached answers', async () => {
      const chat = (outcome: string, firstByteMs: number, answered: Answered) =>
        addCall('chat/completions', outcome, 9_000, 8 * 3_600_000, {
          alias: 'svc/a',
          firstByteMs,
          ...answered,
        });
      for (const ms of [100, 200, 300]) await chat('SUCCEEDED', ms, { targetId: 'fast' });
      await chat('SUCCEEDED', 2_000, { targetId: 'slow', servedBy: 'svc/b' });
      await chat('FAILED', 7_000, { targetId: 'fast' });
      await chat('SUCCEEDED', 1, { targetId: 'fast', cacheHit: true });
      expect(await ask('{ aiTargetStats(hours: 9) { target alias count p50Ms p95Ms p99Ms } }')).toEqual({
        aiTargetStats: [
          { target: 'slow', alias: 'svc/b', count: 1, p50Ms: 2_000, p95Ms: 2_000, p99Ms: 2_000 },
          { target: 'fast', alias: 'svc/a', count: 3, p50Ms: 200, p95Ms: 290, p99Ms: 298 },
        ],
      });
      expect(await ask('{ aiTargetStats(hours: 7) { target } }')).toEqual({ aiTargetStats: [] });
    });

    test('A-8 errors are grouped by service and message, with their count, last time and a request id', async () => {
      const line = async (level: string, message: string, context: object, agoMs: number) =>
        await backend.database.query(
          'insert into log_entries (timestamp, level, message, context) values ($1, $2, $3, $4)',
          [new Date(backend.clock.now() - agoMs), level, message, { ...context }],
        );
      const failed = (requestId: string, message: string) => {
        return { service: 'gateway', requestId, error: { message } };
      };
      await line('error', 'it broke', failed('req_1', 'old'), 9_000);
      await line('error', 'it broke', failed('req_2', 'new'), 5_000);
      await line('error', 'it broke', { service: 'backend' }, 7_000);
      // The word has another meaning here: a provider's host is no service of ours.
      await line('warn', 'it creaked', { service: 'models.example' }, 1_000);
      await line('error', 'it broke', { service: 'gateway' }, 30 * 3_600_000);
      const group = { service: 'gateway', message: 'it broke', count: 2, sampleRequestId: 'req_2' };
      const fields = '{ service message count lastSeenAt sampleRequestId sampleReason }';
      expect(await ask(`{ errorGroups ${fields} }`)).toMatchObject({
        errorGroups: [
          { ...group, sampleReason: 'new', lastSeenAt: new Date(now().getTime() - 5_000).toISOString() },
          { service: 'backend', count: 1, sampleRequestId: null, sampleReason: null },
        ],
      });
      expect(await ask(`{ errorGroups(hours: 48, level: ERROR) ${fields} }`)).toMatchObject({
        errorGroups: [{ ...group, count: 3 }, { count: 1 }],
      });
      expect(await ask(`{ errorGroups(level: WARN) ${fields} }`)).toMatchObject({
        errorGroups: [{ service: '', message: 'it creaked' }],
      });
      expect(await refusal(`{ errorGroups(level: INFO) ${fields} }`)).toBe('BAD_USER_INPUT');
      const found = `{ logEntries(minLevel: ERROR, contains: "BROKE", service: "gateway", first: 1) {
        nodes { context } pageInfo { hasNextPage } } }`;
      expect(await ask(found)).toMatchObject({
        logEntries: { nodes: [{ context: { requestId: 'req_2' } }], pageInfo: { hasNextPage: true } },
      });
      for (const args of ['companyId: "none"', 'requestId: "none"', 'to: "2001-01-01T00:00:00Z"']) {
        expect(await ask(`{ logEntries(${args}) { nodes { message } } }`)).toEqual({
          logEntries: { nodes: [] },
        });
      }
    });
  });

  test('G-29 G-32 each company is shown with its balance and whether its calls are admitted', async () => {
    const adjust = (id: string, credits: number) =>
      ask(`mutation { adjustCredits(companyId: "${id}", credits: ${credits}, reason: "x",
        idempotencyKey: "${backend.parts.secrets.newId()}") { id } }`);
    const [rich, poor] = [await backend.company('Rich'), await backend.company('Poor')];
    const [line, owing] = [await backend.company('Line'), await backend.company('Owing')];
    for (const [id, limit] of [
      [line, 'null'],
      [owing, '5'],
    ]) {
      await ask(
        `mutation { setCompanyBilling(companyId: "${id}", billingMode: POSTPAID, creditLimit: ${limit}) { id } }`,
      );
    }
    await adjust(rich, 12.5);
    await adjust(line, -3);
    await backend.database.query(
      `insert into invoices (id, company_id, kind, status, amount_minor, currency, due_at)
       values ($1, $2, 'MANUAL', 'OPEN', 1, 'usd', $3)`,
      [backend.parts.secrets.newId(), owing, new Date(now().getTime() - 1)],
    );
    type Company = { id: string; standing: string; balance: { credits: number } };
    const shown = async (...ids: string[]) => {
      const { companies } = await ask<{ companies: { nodes: Company[] } }>(
        '{ companies(first: 100) { nodes { id standing balance { credits } } } }',
      );
      const own = ids.map((id) => companies.nodes.find((company) => company.id === id));
      return own.map((company) => [company?.standing, company?.balance.credits]);
    };
    expect(await shown(rich, poor, line, owing)).toEqual([
      ['GOOD', 12.5],
      ['OUT_OF_CREDITS', 0],
      ['GOOD', -3],
      ['OVERDUE', 0],
    ]);
    await adjust(owing, -5);
    await backend.database.query("update invoices set status = 'PAID' where company_id = $1", [owing]);
    expect(await shown(owing)).toEqual([['OUT_OF_CREDITS', -5]]);
  });
});
