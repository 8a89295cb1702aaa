import type { AnswerCacheParts } from '../../domain/answer-cache/answer-cache.ts';
import type { PayloadLogParts } from '../../domain/call-payloads/payload-log.ts';
import { REDACTED_KINDS } from '../../domain/call-payloads/redaction.ts';
import { part, permission, someOf, whole } from './setting-forms.ts';

/** The settings for answers that are stored if a key or a call requests it, as rows of the table in settings.ts. */
export const STORED_CONTENT_SETTINGS = {
  CACHE_MAX_TTL_SECONDS: whole(
    0,
    2_592_000,
    86_400,
    'The longest that an answer may be cached, for keys and calls that opt in with `cacheTtlSeconds` or `x-turnpike-cache: ttl=600`. 0 turns the cache off.',
  ),
  CACHE_PRICE_SHARE: part(
    '0',
    'What an answer from the cache costs, as a share of what the call would have cost: 0 is free, 1 the whole price.',
  ),
  CACHE_ANSWER_MAX_BYTES: whole(
    1_024,
    16 * 1024 * 1024,
    1024 * 1024,
    'The largest response that is cached. Larger ones are not cached.',
  ),
  CACHE_COMPANY_MB: whole(
    1,
    100_000,
    100,
    'Maximum size of a company’s cached responses, in megabytes. The oldest are removed first.',
  ),
  CACHE_COMPANY_ANSWERS: whole(
    1,
    100_000,
    5_000,
    'Maximum number of a company’s cached responses. The oldest are removed first.',
  ),
  PAYLOAD_RETENTION_DAYS: whole(
    1,
    400,
    30,
    'How long prompts and answers of keys with `logPayloads` are stored, where their company has not chosen another time.',
  ),
  PAYLOAD_MAX_RETENTION_DAYS: whole(
    0,
    400,
    90,
    'The longest retention that a company may choose. With 0, no prompts and answers are stored, regardless of key settings.',
  ),
  PAYLOAD_MAX_BYTES: whole(
    1_024,
    2 * 1024 * 1024,
    64 * 1024,
    'How much of a request, and of a response, is stored with `logPayloads`. What is longer is cut, with a mark.',
  ),
  PAYLOAD_REDACTION: someOf(
    REDACTED_KINDS,
    'What is removed from prompts and answers before they are stored, with commas; `none` for nothing. Companies add patterns of their own.',
  ),
  TRACE_PAYLOADS: permission(
    'Traces carry prompts and answers of keys with `logPayloads`, redacted and up to 32 kB each. They leave Turnpike for the address of OTEL_EXPORTER_OTLP_ENDPOINT, where its retention and erasures do not apply.',
  ),
};

export interface StoredContent {
  /** For the exact cache. */
  readonly answerCache: Pick<
    AnswerCacheParts,
    'maxTtlSeconds' | 'maxAnswerBytes' | 'maxCompanyBytes' | 'maxCompanyAnswers' | 'priceShareMillionths'
  >;
  /** For stored prompts and answers. */
  readonly payloads: Pick<PayloadLogParts, 'retentionDays' | 'maxRetentionDays' | 'maxBytes' | 'redacts'>;
  readonly tracesPayloads: boolean;
}

interface Values {
  readonly PAYLOAD_RETENTION_DAYS: number;
  readonly PAYLOAD_MAX_RETENTION_DAYS: number;
  readonly PAYLOAD_MAX_BYTES: number;
  readonly PAYLOAD_REDACTION: PayloadLogParts['redacts'];
  readonly TRACE_PAYLOADS: boolean;
  readonly CACHE_MAX_TTL_SECONDS: number;
  readonly CACHE_PRICE_SHARE: number;
  readonly CACHE_ANSWER_MAX_BYTES: number;
  readonly CACHE_COMPANY_MB: number;
  readonly CACHE_COMPANY_ANSWERS: number;
}

export function storedContentOf(values: Values): StoredContent {
  return {
    answerCache: {
      maxTtlSeconds: values.CACHE_MAX_TTL_SECONDS,
      maxAnswerBytes: values.CACHE_ANSWER_MAX_BYTES,
      maxCompanyBytes: values.CACHE_COMPANY_MB * 1_000_000,
      maxCompanyAnswers: values.CACHE_COMPANY_ANSWERS,
      priceShareMillionths: Math.round(values.CACHE_PRICE_SHARE * 1_000_000),
    },
    payloads: {
      retentionDays: Math.min(values.PAYLOAD_RETENTION_DAYS, values.PAYLOAD_MAX_RETENTION_DAYS),
      maxRetentionDays: values.PAYLOAD_MAX_RETENTION_DAYS,
      maxBytes: values.PAYLOAD_MAX_BYTES,
      redacts: values.PAYLOAD_REDACTION,
    },
    tracesPayloads: values.TRACE_PAYLOADS,
  };
}
