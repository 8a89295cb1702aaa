import type { Context } from 'hono';
import type { Generator } from '../domain/matching/generator/generator.ts';
import {
  type GeneratorMetrics,
  type GeneratorStatus,
  type GeneratorWish,
  readMetrics,
  readStatus,
} from '../domain/matching/generator/generator-status.ts';
import type { PlatformModelCalls } from '../domain/matching/generator/model-calls.ts';
import type { ServiceApp } from '../http/service-app.ts';
import type { Clock } from '../ports/clock.ts';
import type { Database } from '../ports/database.ts';

export interface MatchGeneratorParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly generator: Generator;
  readonly modelCalls: Pick<PlatformModelCalls, 'breakerState'>;
}

/** A-9's answer, in the documented names; `wish` says what it is to become where a batch still runs. */
interface StatusAnswer {
  readonly status: GeneratorStatus['state'];
  readonly uptime_seconds: number;
  readonly current_batch: number;
  readonly queue_size: number;
  readonly wish: GeneratorWish;
}

const PATH = '/api/v1/background-tasks/match-score-generator';

/** All of it is internal: the caller has put the guard in front. */
export function addMatchGenerator(app: ServiceApp, parts: MatchGeneratorParts): void {
  const { generator } = parts;
  app.get(`${PATH}/status`, async (context) => context.json(await status(parts)));
  app.post(`${PATH}/start`, (context) => wish(context, parts, 'running'));
  app.post(`${PATH}/stop`, (context) => wish(context, parts, 'stopped'));
  app.get(`${PATH}/metrics`, async (context) => {
    const { database, clock, modelCalls } = parts;
    const now = { nowMs: clock.now(), own: generator.own(), breakerState: modelCalls.breakerState() };
    const metrics: GeneratorMetrics = await readMetrics(database, now);
    return context.json(metrics);
  });
}

async function wish(context: Context, parts: MatchGeneratorParts, wanted: GeneratorWish): Promise<Response> {
  await parts.generator.wish(wanted);
  return context.json(await status(parts));
}

async function status({ database, clock, generator }: MatchGeneratorParts): Promise<StatusAnswer> {
  const now = await readStatus(database, clock.now(), generator.own());
  return {
    status: now.state,
    uptime_seconds: now.uptimeSeconds,
    current_batch: now.currentBatch,
    queue_size: now.queueSize,
    wish: now.wish,
  };
}
