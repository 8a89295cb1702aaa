import { z } from 'zod';
import type { JournalEntry } from '../../ports/call-journal.ts';
import type { FinishedCall } from './finished-call.ts';

/** What is written outlives the code that wrote it: a later form gets another number, and this one stays readable. */
const FORM = 1;

const text = z.string().max(2_000);
const whole = z.number().int().min(0);
const tokens = z.object({ promptTokens: whole, cachedTokens: whole, completionTokens: whole });

/** Longer than any answer that may be kept, in base64. */
const MOST_SEALED_CHARACTERS = 32 * 1024 * 1024;
const idempotent = z.object({
  idempotencyKey: z.string().max(255),
  sha256: z.string().max(64),
  contentType: text,
  sealedAnswer: z.string().max(MOST_SEALED_CHARACTERS).nullable(),
});

const record = z.object({
  form: z.literal(FORM),
  id: z.uuid(),
  companyId: z.uuid(),
  keyId: z.uuid().nullable(),
  requestId: text,
  endpoint: text,
  alias: text.nullable(),
  targetId: text.nullable(),
  outcome: z.enum(['SUCCEEDED', 'FAILED', 'REFUSED']),
  reason: text.nullable(),
  httpStatus: whole,
  streamed: z.boolean(),
  tokens: tokens.nullable(),
  estimatedTokens: whole,
  startedAtMs: whole,
  firstByteMs: whole.nullable(),
  durationMs: whole,
  monthlyLimitMicro: z
    .string()
    .regex(/^\d{1,19}$/)
    .nullable(),
  idempotent: idempotent.optional(),
});

/** No text of a prompt or an answer is in it: a finished call has none, but for the encrypted one of a call to be repeated. */
export function entryOf(call: FinishedCall): JournalEntry {
  const monthlyLimitMicro = call.monthlyLimitMicro?.toString() ?? null;
  return { id: call.id, record: JSON.stringify({ form: FORM, ...call, monthlyLimitMicro }) };
}

/** Null where it is none that this code can read. */
export function callOf(entry: JournalEntry): FinishedCall | null {
  const read = record.safeParse(parsed(entry.record));
  if (!read.success || read.data.id !== entry.id) return null;
  const { form: _, monthlyLimitMicro, idempotent: ending, ...call } = read.data;
  return {
    ...call,
    monthlyLimitMicro: monthlyLimitMicro === null ? null : BigInt(monthlyLimitMicro),
    ...(ending === undefined ? {} : { idempotent: ending }),
  };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
