import type { JobData, QueueDefinition } from '../../ports/job-queue.ts';

const NAME = /^[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*$/;
const MAX_NAME_CHARACTERS = 60;
const MAX_DATA_BYTES = 256 * 1024;
const MAX_DEDUPE_CHARACTERS = 500;
const DAY_SECONDS = 24 * 60 * 60;

const DEAD_LETTERS = '.dead';

export function deadLetterQueueOf(queue: string): string {
  return `${queue}${DEAD_LETTERS}`;
}

export function isDeadLetterQueue(name: string): boolean {
  return name.endsWith(DEAD_LETTERS);
}

/** pg-boss inserts the name into its SQL, so other characters are rejected. */
export function acceptName(name: string): void {
  if (typeof name !== 'string' || name.length > MAX_NAME_CHARACTERS || !NAME.test(name)) {
    throw new TypeError(
      `"${String(name).slice(0, MAX_NAME_CHARACTERS)}" cannot name a queue: at most ${MAX_NAME_CHARACTERS} of ` +
        'a-z, 0-9, "-", "_" and ".", beginning with a letter',
    );
  }
  if (isDeadLetterQueue(name)) {
    throw new TypeError(`"${name}" cannot name a queue: it would be the dead letters of another`);
  }
}

export function acceptDefinition(queue: QueueDefinition): void {
  acceptName(queue.name);
  const whole = (field: keyof QueueDefinition, least: number, most: number) => {
    const value = queue[field];
    if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return;
    throw new RangeError(
      `${field} of queue "${queue.name}" must be a whole number from ${least} to ${most}, not ${value}`,
    );
  };
  whole('retries', 0, 1_000);
  whole('retryDelaySeconds', 0, DAY_SECONDS);
  whole('retryDelayMaxSeconds', queue.retryDelaySeconds, 30 * DAY_SECONDS);
  whole('runSeconds', 1, DAY_SECONDS);
  whole('heartbeatSeconds', 10, DAY_SECONDS);
}

export function acceptData(queue: string, data: JobData): void {
  const bytes = Buffer.byteLength(JSON.stringify(data));
  if (bytes <= MAX_DATA_BYTES) return;
  throw new RangeError(
    `a job of queue "${queue}" may carry ${MAX_DATA_BYTES} bytes as JSON, this one has ${bytes}`,
  );
}

/** Unique for a job without a `dedupeKey`: pg-boss would treat all jobs without a key as the same one. */
export function singletonKeyFor(dedupeKey: string | undefined): string {
  if (dedupeKey === undefined) return `job:${crypto.randomUUID()}`;
  if (dedupeKey.length <= MAX_DEDUPE_CHARACTERS) return `key:${dedupeKey}`;
  throw new RangeError(`a dedupeKey may have ${MAX_DEDUPE_CHARACTERS} characters`);
}

const MAX_CHARACTERS = 2_000;

/** The reason of a rejected handler, which may be any value, as a text of limited length that jsonb accepts. */
export function errorText(error: unknown): string {
  return bounded(describe(error));
}

/** The error text of a dead letter. Texts by pg-boss are nested one level deeper than ours. */
export function textOfOutput(output: unknown): string {
  const { message, value } = (output ?? {}) as { message?: unknown; value?: { message?: unknown } };
  if (typeof message === 'string') return bounded(message);
  if (typeof value?.message === 'string') return bounded(value.message);
  return 'no error text was kept';
}

function describe(error: unknown): string {
  try {
    if (error instanceof Error) {
      const message = String(error.message);
      return error.name === 'Error' ? message || 'an Error without a message' : `${error.name}: ${message}`;
    }
    if (typeof error === 'string') return error;
    return `the handler rejected with ${typeof error === 'object' ? JSON.stringify(error) : String(error)}`;
  } catch {
    return 'the handler rejected with something that cannot be written down';
  }
}

/** jsonb rejects NUL and unpaired surrogates, which truncation may produce. */
function bounded(text: string): string {
  return text.slice(0, MAX_CHARACTERS).replaceAll('\u0000', '').toWellFormed();
}
