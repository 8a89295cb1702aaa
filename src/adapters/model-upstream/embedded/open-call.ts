import type { Tokens } from './tokens.ts';

/** A call whose body has been read as JSON, and what every answer needs. */
export interface OpenCall {
  readonly model: string;
  readonly body: unknown;
  readonly tokens: Tokens;
  readonly signal: AbortSignal;
  /** Seconds since the epoch. */
  readonly created: number;
  /** Without hyphens. */
  readonly newId: () => string;
}
