import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import {
  createCvWorker,
  createDocumentReading,
  createDocumentWorker,
  documentWork,
} from '../../src/ai-service/workers/document-workers.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { createBreakers } from '../../src/domain/breakers/breakers.ts';
import { createBillingStatuses } from '../../src/domain/credits/holds/billing-status.ts';
import { createCreditHolds } from '../../src/domain/credits/holds/holds.ts';
import { createDocumentEngine } from '../../src/domain/documents/embedded-engine.ts';
import { createFairReader, type FairReader } from '../../src/domain/documents/fair-reader.ts';
import { createTextParser } from '../../src/domain/documents/parse-text.ts';
import { createLimits } from '../../src/domain/limits/limits.ts';
import { createPlatformCalls } from '../../src/domain/model-calls/platform-calls.ts';
import { type Alias, DEFAULT_BOUNDS } from '../../src/domain/models/aliases.ts';
import type { Database } from '../../src/ports/database.ts';
import type { DocumentReading } from '../../src/ports/document-reader.ts';
import type { JobHandler } from '../../src/ports/job-queue.ts';
import type { UpstreamAnswer } from '../../src/ports/model-upstream.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { plainModels } from '../doubles/plain-models.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { openTestDatabase } from '../doubles/test-database.ts';
import { bodyOf } from '../doubles/upstream-body.ts';
import { creditsOf } from '../gateway/credits-under-test.ts';

const PROVIDER = {
  id: 'target-1',
  baseUrl: 'https://provider.example/v1',
  model: 'm',
  apiKey: 'k',
  weight: 1,
};
const EMBEDDED = { id: 'embedded', baseUrl: null, model: 'e', apiKey: null, weight: 1 };
const PRICE = {
  id: 'p',
  promptMicro: 1_000_000n,
  cachedMicro: 500_000n,
  completionMicro: 4_000_000n,
  inForceFromMs: 0,
};

/** What the provider answers; throws where it cannot be reached. */
export type Model = (body: { readonly messages: readonly { readonly content: string }[] }) => unknown;

export interface WorkerOptions {
  readonly balanceMicro?: bigint;
  readonly hasProvider?: boolean;
  /** Replaces the own one; the caller closes it. */
  readonly database?: Database;
}

/** A company, its two document workers, and a provider and a reader that a test scripts; without a queue. */
export async function openWorkers(options: WorkerOptions = {}) {
  const clock = createManualClock();
  const secrets = createSystemSecrets();
  const { log, entries } = createRecordingLog();
  const database = options.database ?? (await openTestDatabase());
  const sharedState = createInProcessState({ clock, log });
  const companyId = secrets.newId();
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  const credits = creditsOf({ database, sharedState, secrets }, companyId);
  await credits.grant(options.balanceMicro ?? 1_000_000_000n);
  type Read = (text: string) => DocumentReading | Promise<DocumentReading>;
  const scripted: { model: Model; read: Read; asked: number } = {
    model: () => {
      throw new Error('no model is scripted');
    },
    read: (text) => ({ outcome: 'read', kind: 'text', text, pages: null, warnings: [] }),
    asked: 0,
  };
  const alias: Alias = {
    alias: 'svc/extract-default',
    kind: 'extract',
    targets: [options.hasProvider === true ? PROVIDER : EMBEDDED],
    prices: [PRICE],
    ...DEFAULT_BOUNDS.extract,
  };
  const breakers = await createBreakers({ sharedState, clock, log });
  const billingStatuses = await createBillingStatuses({ database, sharedState, clock, log });
  const parser = createTextParser({
    models: plainModels(() => alias.targets),
    upstream: {
      async send(_target, call): Promise<UpstreamAnswer> {
        scripted.asked += 1;
        const answer = scripted.model(JSON.parse(new TextDecoder().decode(call.body)));
        if (answer instanceof Error)
          throw Object.assign(answer, { name: 'UpstreamFailure', reason: 'connect' });
        const body = bodyOf(Response.json(answer));
        return { status: 200, contentType: 'application/json', body };
      },
    },
    breakers,
    secrets,
    clock,
    log,
    answerTimeoutMs: 60_000,
    engine: createDocumentEngine({ clock, secrets }),
    countTokens: async (text) => text.length,
  });
  const reader: Pick<FairReader, 'read'> = {
    read: async (_companyId, bytes) => scripted.read(new TextDecoder().decode(bytes)),
  };

  function callsOfThePlatform() {
    const limits = createLimits({
      ...{ sharedState, clock, log, addressRequestsPerMinute: 0 },
      ownState: createInProcessState({ clock, log }),
    });
    const holds = createCreditHolds({ database, clock, log });
    return createPlatformCalls({ limits, holds, billingStatuses, secrets, clock });
  }

  /** The handlers as a process has them that uses this database. */
  function handlersOn(own: Database): { readonly cv: JobHandler; readonly document: JobHandler } {
    const platformCalls = callsOfThePlatform();
    const reading = createDocumentReading({ reader, parser, platformCalls, extractAlias: () => alias });
    const parts = { database: own, reading, clock, log };
    return { cv: createCvWorker(parts), document: createDocumentWorker(parts) };
  }

  return {
    ...{ clock, secrets, database, companyId, credits, scripted, entries, breakers, handlersOn },
    ...handlersOn(database),
    /** Both queues with their places, over a reader with so many, which companies share. */
    queueWork: (places: number) =>
      documentWork({
        ...{ database, clock, log, parser, platformCalls: callsOfThePlatform() },
        reader: createFairReader({
          ...{ clock, places },
          reader: { read: async (bytes) => await scripted.read(new TextDecoder().decode(bytes)) },
        }),
        extractAlias: () => alias,
      }),
    /** The company's calls, oldest first. */
    calls: () => database.query('select * from calls where company_id = $1 order by id', [companyId]),
    async close(): Promise<void> {
      await breakers.close();
      await billingStatuses.close();
      if (options.database === undefined) await database.close();
    },
  };
}

export type WorkersUnderTest = Awaited<ReturnType<typeof openWorkers>>;

export function jobOf(data: Readonly<Record<string, unknown>>, attempt = 1) {
  return { id: `job-${attempt}`, data, attempt, signal: new AbortController().signal };
}

export const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 50,
  prompt_tokens_details: { cached_tokens: 10 },
};

export function chatAnswer(content: unknown) {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return { choices: [{ message: { role: 'assistant', content: text } }], usage: USAGE };
}

export const CV_TEXT = `Ada Byron
Software Engineer
ada.byron@example.org
+44 20 7946 0321

Work experience

Software Engineer, Analytical Engines Ltd
January 2020 - March 2023
Wrote programs in Python and PostgreSQL.

Education

BSc Mathematics, University of London
2016 - 2019

Skills

Python, PostgreSQL, Docker
`;

export const POSTING_TEXT = `Senior Backend Engineer

Acme GmbH is looking for a Senior Backend Engineer in Berlin, Germany. Full-time, remote possible.

Requirements
- 5 years of experience with Python
- PostgreSQL
- English

Nice to have
- Docker

What we offer
- 30 days of holiday
`;
