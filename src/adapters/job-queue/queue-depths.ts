import type { Statements } from '../../ports/database.ts';
import type { QueueDepth } from '../../ports/job-queue.ts';

const DEAD = '.dead';

interface DepthRow {
  readonly name: string;
  readonly waiting: number;
  readonly active: number;
  readonly oldestSeconds: number | null;
}

/** Every queue at once, by one statement. A job that waits for its time is not late: its age counts from then. */
export async function readQueueDepths(statements: Statements): Promise<readonly QueueDepth[]> {
  const rows = await statements.query<DepthRow>(
    `select queue.name, (count(job.id) filter (where job.state < 'active'))::integer as waiting,
       (count(job.id) filter (where job.state = 'active'))::integer as active,
       (extract(epoch from pgboss.job_now() - min(job.start_after) filter (
         where job.state < 'active' and job.start_after <= pgboss.job_now())))::float8 as "oldestSeconds"
     from pgboss.queue as queue left join pgboss.job as job on job.name = queue.name and job.state <= 'active'
     group by queue.name order by queue.name`,
  );
  const deadOf = new Map(rows.map(({ name, waiting }) => [name, waiting]));
  return rows
    .filter(({ name }) => !name.endsWith(DEAD) && !name.startsWith('__'))
    .map(({ name, waiting, active, oldestSeconds }) => ({
      ...{ name, waiting, active },
      dead: deadOf.get(`${name}${DEAD}`) ?? 0,
      oldestWaitingSeconds: oldestSeconds === null ? null : Math.max(0, Math.round(oldestSeconds)),
    }));
}
