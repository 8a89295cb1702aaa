import type { z } from 'zod';
import type { ConsoleLinks } from './console-links.ts';

/**
 * What a mail says, before it is text or HTML. Templates give this and no markup, so that what people wrote is
 * escaped in one place.
 */
export interface MailContent {
  readonly subject: string;
  readonly heading: string;
  readonly blocks: readonly Block[];
  /** Why this person gets this mail. */
  readonly because: string;
}

export type Block =
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'facts'; readonly rows: readonly Fact[] }
  | { readonly kind: 'button'; readonly label: string; readonly url: string };

export type Fact = readonly [label: string, value: string];

export function paragraph(text: string): Block {
  return { kind: 'paragraph', text };
}

/** Facts that are not known are left out. */
export function facts(...rows: readonly (Fact | null)[]): Block {
  return { kind: 'facts', rows: rows.filter((row) => row !== null) };
}

export function button(label: string, url: string): Block {
  return { kind: 'button', label, url };
}

/** The data of one kind of mail, and what the mail says about it. */
export interface Template<Schema extends z.ZodType> {
  readonly data: Schema;
  readonly write: (data: z.output<Schema>, links: ConsoleLinks) => MailContent;
  /** After this there is no use in sending it. */
  readonly expiresAt?: (data: z.output<Schema>) => string;
}

export function template<Schema extends z.ZodType>(parts: Template<Schema>): Template<Schema> {
  return parts;
}
