import { z } from 'zod';
import type { JournalEntry } from '../../../ports/call-journal.ts';
import { BUDGET_SCOPES } from '../../credits/budgets/call-budgets.ts';
import { MOST_PRICE_FACTOR, WHOLE_PRICE } from '../../models/tiers/tiers.ts';
import { boundedUnpriced } from '../../models/tiers/unpriced-fields.ts';
import { boundedEndUser, boundedTags, LONGEST_END_USER } from '../call-attribution.ts';
import { boundedToolUses, MOST_SURCHARGE_MICRO } from './call-surcharge.ts';
import { elapsedMs, type FinishedCall } from './finished-call.ts';

/** Records outlive the code that wrote them: a new form gets a new number, and this one stays readable. */
const RECORD_FORM = 1;

/** Text that only describes a call is truncated, not rejected: it must not prevent the charge. */
const MOST_TEXT = 2_000;
const textField = z.string().transform((text) => text.slice(0, MOST_TEXT));
const wholeNumber = z.number().int().min(0);
/** Earlier versions could write negative durations, if the clock was set back during the call. */
const duration = z.number().transform((ms) => elapsedMs(0, Math.trunc(ms)));
const tokenCounts = z.object({
  promptTokens: wholeNumber,
  cachedTokens: wholeNumber,
  cacheWriteTokens: wholeNumber.optional(),
  hourWriteTokens: wholeNumber.optional(),
  completionTokens: wholeNumber,
});
const tokenBounds = z.object({ promptTokens: wholeNumber, completionTokens: wholeNumber });

/** Longer than any answer that may be stored, in base64. */
const MOST_SEALED_CHARACTERS = 32 * 1024 * 1024;
const idempotentEnding = z.object({
  idempotencyKey: z.string().max(255),
  sha256: z.string().max(64),
  contentType: textField,
  sealedAnswer: z.string().max(MOST_SEALED_CHARACTERS).nullable(),
  storedForMs: wholeNumber.optional(),
});

const word = z.string().regex(/^[\w-]{1,200}$/);
const responseRecord = z.object({
  id: word,
  itemIds: z.array(word).max(1_000),
  chargeCallId: z.uuid().nullable(),
  targetId: z.string().min(1).max(200),
  sealedContent: z.string().max(MOST_SEALED_CHARACTERS).nullable(),
  contentBytes: wholeNumber,
  createdAtMs: wholeNumber,
  expiresAtMs: wholeNumber,
  maxCompanyBytes: wholeNumber,
});

const MOST_TRIES = 1_000_000;

const callBudget = z.object({
  id: z.uuid(),
  scope: z.enum(BUDGET_SCOPES),
  subject: z.string().max(LONGEST_END_USER),
  mostMicro: wholeNumber,
  isHard: z.boolean(),
});

const journalRecord = z.object({
  form: z.literal(RECORD_FORM),
  id: z.uuid(),
  companyId: z.uuid(),
  keyId: z.uuid().nullable(),
  requestId: textField,
  endpoint: textField,
  alias: textField.nullable(),
  targetId: textField.nullable(),
  outcome: z.enum(['SUCCEEDED', 'FAILED', 'REFUSED']),
  reason: textField.nullable(),
  httpStatus: wholeNumber,
  streamed: z.boolean(),
  tokens: tokenCounts.nullable(),
  tokenBounds: tokenBounds.nullable().optional(),
  surchargeMicro: wholeNumber.max(MOST_SURCHARGE_MICRO).optional(),
  toolUses: z.record(z.string(), wholeNumber).transform(boundedToolUses).optional(),
  estimatedTokens: wholeNumber,
  startedAtMs: wholeNumber,
  firstByteMs: duration.nullable(),
  durationMs: duration,
  monthlyLimitMicro: z
    .string()
    .regex(/^\d{1,19}$/)
    .nullable(),
  payerId: z.uuid().optional(),
  endUser: z.string().transform(boundedEndUser).optional(),
  tags: z.array(z.string()).transform(boundedTags).optional(),
  project: textField.optional(),
  // The charge does not depend on the budgets, so invalid ones are dropped.
  budgets: z.array(callBudget).max(BUDGET_SCOPES.length).optional().catch(undefined),
  tries: wholeNumber.max(MOST_TRIES).optional(),
  // Fields that determine the charge are never guessed: a record with an invalid value is set aside.
  servedBy: z.string().min(1).max(MOST_TEXT).optional(),
  pricedAs: z.string().min(1).max(MOST_TEXT).optional(),
  chargeShareMillionths: wholeNumber.max(1_000_000).optional(),
  priceFactorMillionths: wholeNumber.max(MOST_PRICE_FACTOR * WHOLE_PRICE).optional(),
  completionFactorMillionths: wholeNumber.max(MOST_PRICE_FACTOR * WHOLE_PRICE).optional(),
  tier: textField.optional(),
  hourWriteTokens: wholeNumber.optional(),
  hourWriteFactorMillionths: wholeNumber
    .min(WHOLE_PRICE)
    .max(MOST_PRICE_FACTOR * WHOLE_PRICE)
    .optional(),
  costMicro: wholeNumber.optional(),
  ownKey: z.boolean().optional(),
  cacheHit: z.boolean().optional(),
  overMcp: z.boolean().optional(),
  unpriced: z.array(z.string()).transform(boundedUnpriced).optional(),
  idempotent: idempotentEnding.optional(),
  // An invalid response is dropped: the call is charged anyway.
  response: responseRecord.optional().catch(undefined),
});

/**
 * Contains no text of a prompt or an answer, except in encrypted form: the answer of an idempotent call, and the content of a
 * stored response.
 */
export function entryOf(call: FinishedCall): JournalEntry {
  const { id, monthlyLimitMicro } = call;
  // JSON has no large integers. Most calls have no limit and are not copied.
  const written =
    monthlyLimitMicro === null ? call : { ...call, monthlyLimitMicro: monthlyLimitMicro.toString() };
  return { id, record: `{"form":${RECORD_FORM},${JSON.stringify(written).slice(1)}` };
}

type ReadEntry =
  | { readonly outcome: 'read'; readonly call: FinishedCall }
  /** Which fields are invalid, without their values. */
  | { readonly outcome: 'unreadable'; readonly problem: string };

const MOST_PROBLEMS = 5;

export function readEntry(entry: JournalEntry): ReadEntry {
  const read = journalRecord.safeParse(parsedRecord(entry.record));
  if (!read.success) {
    const problems = read.error.issues.map(
      ({ path, message }) => `${path.join('.') || 'record'}: ${message}`,
    );
    return { outcome: 'unreadable', problem: problems.slice(0, MOST_PROBLEMS).join('; ').slice(0, 500) };
  }
  if (read.data.id !== entry.id) return { outcome: 'unreadable', problem: 'id: not the id of its entry' };
  const { form: _, monthlyLimitMicro, idempotent: ending, ...call } = read.data;
  const limit = monthlyLimitMicro === null ? null : BigInt(monthlyLimitMicro);
  const idempotent = ending === undefined ? {} : { idempotent: ending };
  return { outcome: 'read', call: { ...call, monthlyLimitMicro: limit, ...idempotent } };
}

export function parsedRecord(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
