import type { SeenCall } from '../../test/system/credit-clients.ts';
import { CHARGE_MICRO, type CreditWorld } from '../../test/system/credit-world.ts';
import { startProcess } from '../../test/system/running-system.ts';

export interface Books {
  /** Empty where all is right. */
  readonly problems: readonly string[];
  /** Calls that were charged although their client saw no whole answer: its connection was cut at the last moment. */
  readonly unseen: number;
}

interface Charged {
  readonly request: string;
  readonly rows: number;
  readonly charges: number;
  readonly micro: bigint;
}

const SHOWN = 3;

/** Every answer that was seen whole is charged once, at its price; nothing is charged twice; the books agree. */
export async function readBooks(world: CreditWorld, seen: readonly SeenCall[]): Promise<Books> {
  const charged = await world.database.query<Charged>(
    `select request_id as request, count(distinct calls.id)::int as rows, count(posted.source_id)::int as charges,
       coalesce(-sum(posted.amount_micro), 0)::bigint as micro
     from calls left join credit_transactions as posted on posted.source_id = calls.id::text
     where company_id = $1 and outcome <> 'REFUSED' group by request_id`,
    [world.companyId],
  );
  const byRequest = new Map(charged.map((one) => [one.request, one]));
  const whole = seen.filter(({ isWhole }) => isWhole);
  const free = whole.filter(({ requestId }) => (byRequest.get(requestId)?.charges ?? 0) === 0);
  const twice = charged.filter(({ rows, charges }) => rows > 1 || charges > 1);
  const mispriced = whole.filter(({ requestId }) => {
    const found = byRequest.get(requestId);
    return found?.charges === 1 && found.micro !== CHARGE_MICRO;
  });
  const paid = charged.filter(({ request, charges }) => charges > 0 && isOfClients(request)).length;
  const problems = [
    ...named(
      'answered and not charged',
      free.map(({ requestId }) => requestId),
    ),
    ...named(
      'charged twice',
      twice.map(({ request }) => request),
    ),
    ...named(
      'charged at another price',
      mispriced.map(({ requestId }) => requestId),
    ),
  ];
  return { problems, unseen: paid - (whole.length - free.length) };
}

/** The system makes calls of its own, for documents and matches: those no client waits for. */
function isOfClients(request: string): boolean {
  return request.startsWith('fault-');
}

function named(what: string, ids: readonly string[]): string[] {
  return ids.length === 0 ? [] : [`${ids.length} ${what}: ${ids.slice(0, SHOWN).join(', ')}`];
}

/** As an operator would, in a process of its own. */
export async function runAudit(world: CreditWorld): Promise<{ isClean: boolean; line: string }> {
  const audit = startProcess('turnpike.ts', ['audit'], { ...world.environment });
  const exitCode = await audit.exited;
  const line = `${audit.output()}${audit.errors()}`.trim().split('\n').at(-1) ?? '';
  return { isClean: exitCode === 0, line };
}
