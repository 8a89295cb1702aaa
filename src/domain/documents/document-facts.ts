import { z } from 'zod';

/** The languages that the guess can name; `und` where the text is too short or none of them. */
export const DOCUMENT_LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'und'] as const;

export const documentFactsSchema = z.object({
  kind: z.enum(['cv', 'job_posting', 'other']),
  language: z.enum(DOCUMENT_LANGUAGES),
  /** Of the kind: 0 to 1. */
  confidence: z.number().min(0).max(1),
  warnings: z.array(z.string()),
});

/**
 * Where a value of the record stands: `path` as in `work[0].position`, `start` and `end` offsets in UTF-16 code units
 * into the text that was read.
 */
export const evidenceSchema = z.object({
  path: z.string(),
  start: z.number().int().nonnegative(),
  end: z.number().int().nonnegative(),
  confidence: z.number().min(0).max(1),
});

export type DocumentFacts = z.infer<typeof documentFactsSchema>;
export type DocumentKindGuess = DocumentFacts['kind'];
export type DocumentLanguage = DocumentFacts['language'];
export type Evidence = z.infer<typeof evidenceSchema>;
