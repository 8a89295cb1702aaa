import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Measurement, Row } from './frame/measurement.ts';
import { median, medianOf } from './frame/median.ts';
import { openWorkerBench, type WorkerBench } from './worker-load.ts';

const ROUNDS = 3;
const MAILS = 150;
const CALLS_OF_AN_HOUR = 20_000;
const SCRAPES = 10;
const SCRAPED = ['/metrics', '/monitoring/stats', '/monitoring/operations', '/monitoring/ai-services'];
const LOOKING_MS = 1_000;
const TICKS_A_SECOND = 100;

export const monitoringCost: Measurement = {
  name: 'monitoring-cost',
  what: `what monitoring costs what it monitors: an AI service process that sends mails, with ${CALLS_OF_AN_HOUR.toLocaleString('en')} calls of the last hour, scraped once a second or not`,
  async run(context) {
    const bench = await openWorkerBench(context);
    await addCalls(bench);
    await bench.workOff('mail', MAILS / 4, context.signal);
    const rates = { without: [] as number[], scraped: [] as number[] };
    const cpu = { without: [] as number[], scraped: [] as number[] };
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const way of ['without', 'scraped'] as const) {
        const scraper = way === 'scraped' ? startScraping(bench) : null;
        const cpuBefore = cpuMs(bench.running.pid);
        const tookMs = await bench.workOff('mail', MAILS, context.signal);
        rates[way].push((MAILS * 1_000) / tookMs);
        cpu[way].push(((cpuMs(bench.running.pid) - cpuBefore) * 1_000) / MAILS);
        await scraper?.stop();
      }
    }
    const ratio = (of: typeof rates) => median(of.scraped) / median(of.without);
    const beside = (of: typeof rates) => ({ beside: { reference: 'not scraped', ratio: ratio(of) } });
    return [
      { label: 'mails a second, not scraped', unit: '/s', ...medianOf(rates.without) },
      { label: 'mails a second, scraped', unit: '/s', ...medianOf(rates.scraped), ...beside(rates) },
      { label: 'CPU a mail, not scraped', unit: 'µs', ...medianOf(cpu.without) },
      { label: 'CPU a mail, scraped', unit: 'µs', ...medianOf(cpu.scraped), ...beside(cpu) },
      ...(await eachScrape(bench)),
      ...(await eventLoopDelay(context.signal)),
    ];
  },
};

function startScraping({ ask }: WorkerBench): { stop(): Promise<void> } {
  const ending = Promise.withResolvers<void>();
  let isStopped = false;
  async function scrape(): Promise<void> {
    while (!isStopped) {
      for (const path of SCRAPED) await (await ask(path)).text();
      await Promise.race([Bun.sleep(1_000), ending.promise]);
    }
  }
  // Where the process has gone the measurement ends too, and says so itself.
  const running = scrape().catch(() => {});
  return {
    async stop() {
      isStopped = true;
      ending.resolve();
      await running;
    },
  };
}

async function eachScrape({ ask }: WorkerBench): Promise<Row[]> {
  const rows: Row[] = [];
  for (const path of SCRAPED) {
    const times: number[] = [];
    for (let scrape = 0; scrape < SCRAPES; scrape += 1) {
      const begin = performance.now();
      const response = await ask(path);
      await response.text();
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}`);
      times.push(performance.now() - begin);
    }
    rows.push({ label: `GET ${path}`, unit: 'ms', ...medianOf(times) });
  }
  return rows;
}

/** The histogram that every process keeps: of a process that wakes now and then, with and without it. */
async function eventLoopDelay(signal: AbortSignal): Promise<Row[]> {
  const values: Record<'without' | 'with', number[]> = { without: [], with: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const way of ['without', 'with'] as const) {
      signal.throwIfAborted();
      const delays = monitorEventLoopDelay({ resolution: 20 });
      if (way === 'with') delays.enable();
      const before = process.cpuUsage();
      for (let waited = 0; waited < LOOKING_MS; waited += 1_000 / TICKS_A_SECOND) {
        await Bun.sleep(1_000 / TICKS_A_SECOND);
      }
      const { user, system } = process.cpuUsage(before);
      delays.disable();
      values[way].push(((user + system) * 1_000) / LOOKING_MS);
    }
  }
  const ratio = median(values.with) / median(values.without);
  return [
    { label: 'CPU of a second, no histogram of delays', unit: 'µs', ...medianOf(values.without) },
    {
      ...{ label: 'CPU of a second, with it', unit: 'µs', ...medianOf(values.with) },
      beside: { reference: 'without', ratio },
    },
  ];
}

async function addCalls({ database, companyId }: WorkerBench): Promise<void> {
  await database.query(
    `insert into calls (id, company_id, request_id, endpoint, outcome, http_status, streamed, estimated_tokens,
       started_at, duration_ms)
     select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3)
         || '8' || substr(md5(n::text), 5, 15))::uuid,
       $1, 'r' || n, (array['chat/completions', 'parse/cv', 'embeddings'])[n % 3 + 1], 'SUCCEEDED', 200, false, 0, at, n % 900
     from (select n, now() - (n * interval '0.17 seconds') as at from generate_series(1, $2::integer) as n) as made`,
    [companyId, CALLS_OF_AN_HOUR],
  );
}

/** In user and system mode, by the kernel: ticks of a hundredth of a second. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
