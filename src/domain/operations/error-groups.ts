import type { Statements } from '../../ports/database.ts';

/** Lines of the log that say the same, of the same service. */
export interface ErrorGroup {
  /** One of ours; empty where a line does not say it: of what all services of a process share. */
  readonly service: string;
  readonly message: string;
  readonly count: number;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  /** Of the last line that has one. */
  readonly sampleRequestId: string | null;
  /** What the last line that says one gives as its reason. */
  readonly sampleReason: string | null;
}

/** What a group is made of: the newest so many lines. Older ones are not counted, and the answer stays quick. */
const MOST_LINES = 20_000;
const MOST_GROUPS = 200;
/** Some lines name an external service under the same word. */
const SERVICES = ['gateway', 'backend', 'ai-service'];

/** The one that was seen last comes first. */
export async function groupErrors(
  statements: Statements,
  level: 'warn' | 'error',
  since: Date,
): Promise<readonly ErrorGroup[]> {
  return await statements.query<ErrorGroup>(
    `select case when context ->> 'service' = any($3::text[]) then context ->> 'service' else '' end as service,
       message, count(*)::integer as count, min(timestamp) as "firstSeenAt", max(timestamp) as "lastSeenAt",
       (array_agg(request_id order by timestamp desc, id desc) filter (where request_id is not null))[1]
         as "sampleRequestId",
       left((array_agg(reason order by timestamp desc, id desc) filter (where reason is not null))[1], 500)
         as "sampleReason"
     from (
       select id, timestamp, message, context, request_id,
         coalesce(context -> 'error' ->> 'message', context ->> 'reason') as reason
       from log_entries where level = $1 and timestamp >= $2
       order by timestamp desc, id desc limit ${MOST_LINES}) as line
     group by 1, 2 order by max(timestamp) desc, message limit ${MOST_GROUPS}`,
    [level, since, SERVICES],
  );
}
