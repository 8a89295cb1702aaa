import { createSystemClock } from '../src/adapters/clock/system-clock.ts';
import { openJobQueue } from '../src/adapters/job-queue/pg-boss.ts';
import { createSystemSecrets } from '../src/adapters/secrets/system-secrets.ts';
import { createJob, DOCUMENT_QUEUE } from '../src/domain/jobs/job-changes.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import { until } from '../test/doubles/until.ts';
import { makeCompany, makePurchase } from '../test/payments/payments-under-test.ts';
import { paidSession } from '../test/payments/purchase-facts.ts';
import { holds } from './frame/expect.ts';
import type { FaultCase, Lab } from './frame/fault-case.ts';

const SECRET = 'whsec_of_the_faults_0123456789abcdef';
const PURCHASES = 200;
const TIMES_EACH = 5;
const WRONG = 500;
const AT_ONCE = 100;
const POISON = 500;
const GOOD = 5;
const POSTING = `Senior TypeScript Developer\n\nLocation: Berlin\n\nRequirements:\n- TypeScript\n- PostgreSQL\n\nFull-time.`;
const PORTS = { BACKEND_PORT: '0', AI_PORT: '0', SANDBOX_PORT: '0' };

export const workFaults: readonly FaultCase[] = [
  {
    name: 'webhook-storm',
    what: `${PURCHASES} payments, each delivered ${TIMES_EACH} times at once and in any order, among ${WRONG} forged events`,
    async run(lab) {
      const { database } = lab.world;
      const backend = await lab.start('backend.ts', { ...PORTS, WEBHOOK_SECRET: SECRET });
      const origin = new URL(/http:[^\s,]+/.exec(await backend.line('ready'))?.[0] ?? '').origin;
      const bodies: string[] = [];
      for (let made = 0; made < PURCHASES; made += 1) {
        const company = await makeCompany(database);
        bodies.push(JSON.stringify(paidSession(company, await makePurchase(database, company.id)).payload));
      }
      const right = bodies.flatMap((body) =>
        Array.from({ length: TIMES_EACH }, () => ({ body, secret: SECRET })),
      );
      const forged = Array.from({ length: WRONG }, (_, at) => ({
        body: bodies[at % PURCHASES] ?? '',
        secret: 'x',
      }));
      const all = shuffled([...right, ...forged]);
      const statuses = new Map<number, number>();
      const begun = performance.now();
      const lane = async () => {
        for (let next = all.pop(); next !== undefined; next = all.pop()) {
          const headers = { 'stripe-signature': signatureOf(next.body, next.secret) };
          const init = { method: 'POST', body: next.body, headers };
          const { status } = await fetch(`${origin}/payments/webhook`, init);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, lane));
      const seconds = (performance.now() - begun) / 1_000;
      const [row] = await database.query<{ completed: number; granted: number }>(
        `select (select count(*)::int from credit_pack_purchases where status = 'COMPLETED') as completed,
           (select count(*)::int from credit_transactions where source_kind = 'credit-pack-purchase') as granted`,
      );
      const [taken, refused] = [statuses.get(200) ?? 0, statuses.get(400) ?? 0];
      // Beyond a number a minute of one address.
      const limited = statuses.get(429) ?? 0;
      return {
        kept: `${taken} × 200 in ${seconds.toFixed(1)} s; ${row?.completed} purchases completed, ${row?.granted} credited`,
        refused: `${refused} × 400, ${limited} × 429`,
        ...{ recoveryMs: null, lost: '' },
        problems: [
          ...holds(
            taken === PURCHASES * TIMES_EACH && refused > 0 && refused + limited === WRONG,
            `statuses: ${JSON.stringify([...statuses])}`,
          ),
          ...holds(
            row?.completed === PURCHASES && row?.granted === PURCHASES,
            `completed: ${JSON.stringify(row)}`,
          ),
        ],
      };
    },
  },
  {
    name: 'poison-queue',
    what: `${POISON} jobs that fail at every try lie in front of ${GOOD} that do not`,
    async run(lab) {
      const { database, companyId } = lab.world;
      await lab.start('ai-service.ts', PORTS);
      const clock = createSystemClock();
      const jobQueue = await openJobQueue({ database, log: createSilentLog() });
      lab.whenEnding(() => jobQueue.stop(0));
      await jobQueue.define(DOCUMENT_QUEUE);
      const begun = performance.now();
      for (let made = 0; made < POISON; made += 1) {
        await jobQueue.enqueue(DOCUMENT_QUEUE.name, { jobId: `poison-${made}` });
      }
      const parts = { clock, secrets: createSystemSecrets(), jobQueue };
      const bytes = new TextEncoder().encode(POSTING);
      const file = { name: 'posting.txt', bytes };
      for (let made = 0; made < GOOD; made += 1) {
        const wanted = { companyId, createdBy: null, fields: { title: `Job ${made}` }, file };
        await database.transaction((transaction) => createJob(transaction, parts, wanted));
      }
      const read = () => readPostings(lab);
      await until(async () => (await read()) === GOOD, 90_000).catch(() => {});
      const recoveryMs = performance.now() - begun;
      const count = async () => {
        const { waiting, active, dead } = await jobQueue.counts(DOCUMENT_QUEUE.name);
        return waiting + active + dead;
      };
      // A posting is read a moment before its job has ended.
      await until(async () => (await count()) <= POISON).catch(() => {});
      const left = await count();
      return {
        kept: `${await read()} of ${GOOD} good jobs were done`,
        refused: `${left} of ${POISON} poisoned jobs wait for their next try or are dead letters; turnpike queue lists them`,
        ...{ recoveryMs, lost: '' },
        problems: [
          ...holds((await read()) === GOOD, 'good jobs were not done behind the poison'),
          ...holds(left === POISON, `${left} jobs are left, not ${POISON}`),
        ],
      };
    },
  },
];

async function readPostings({ world }: Lab): Promise<number> {
  const [row] = await world.database.query<{ done: number }>(
    `select count(*)::int as done from jobs where parsing not in ('NONE', 'PENDING')`,
  );
  return row?.done ?? 0;
}

function signatureOf(body: string, secret: string): string {
  const at = Math.floor(Date.now() / 1_000);
  return `t=${at},v1=${new Bun.CryptoHasher('sha256', secret).update(`${at}.${body}`).digest('hex')}`;
}

function shuffled<T>(all: readonly T[]): T[] {
  return all
    .map((one) => ({ one, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}
