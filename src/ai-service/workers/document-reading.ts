import type { ParsedText, ParseKind } from '../../domain/documents/parse-engine.ts';
import type { TextParser } from '../../domain/documents/parse-text.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import type { Transaction } from '../../ports/database.ts';
import type { DocumentReader } from '../../ports/document-reader.ts';
import type { PlatformCalls } from './platform-calls.ts';

/** A document of a company that a worker has taken up. */
export interface DocumentToRead {
  readonly kind: ParseKind;
  readonly companyId: string;
  readonly bytes: Uint8Array;
  /** Names the job in the record of the call. */
  readonly requestId: string;
  readonly signal: AbortSignal;
}

export type ReadDocument =
  | {
      readonly outcome: 'read';
      readonly text: string;
      readonly parsed: ParsedText;
      readonly engine: 'model' | 'embedded';
      /** In the transaction that writes the record down. */
      charge(transaction: Transaction): Promise<void>;
      /** After it, whatever came of it. */
      release(): Promise<void>;
    }
  /** For good, in a sentence for whoever sent the document. */
  | { readonly outcome: 'unreadable'; readonly problem: string };

export interface DocumentReading {
  /** Rejects where it may go better later. */
  read(document: DocumentToRead): Promise<ReadDocument>;
}

export interface DocumentReadingParts {
  readonly reader: Pick<DocumentReader, 'read'>;
  readonly parser: TextParser;
  readonly platformCalls: PlatformCalls;
  /** The one that documents are read by. */
  readonly extractAlias: () => Alias;
}

/** From bytes to a record: the reader's text, the company's credits, a model or the embedded engine. */
export function createDocumentReading(parts: DocumentReadingParts): DocumentReading {
  const { reader, parser, platformCalls, extractAlias } = parts;
  return {
    async read({ kind, companyId, bytes, requestId, signal }) {
      const reading = await reader.read(bytes);
      switch (reading.outcome) {
        case 'busy':
          throw new Error('the document reader is busy');
        case 'too-large':
        case 'unreadable':
          return { outcome: 'unreadable', problem: reading.message };
        case 'read':
      }
      signal.throwIfAborted();
      const { text, warnings } = reading;
      const alias = extractAlias();
      const endpoint = `parse/${kind}`;
      const bodyBytes = text.length;
      const call = await platformCalls.begin({ companyId, alias, endpoint, requestId, bodyBytes });
      try {
        const document = await parser.parse({ kind, text, alias, signal, mayAsk: call.mayAsk });
        signal.throwIfAborted();
        const { parsed, engine } = document;
        return {
          outcome: 'read',
          text,
          parsed: withWarnings(parsed, warnings),
          engine,
          charge: (transaction) => call.charge(transaction, document),
          release: call.release,
        };
      } catch (error) {
        await call.release();
        throw error;
      }
    },
  };
}

/** What the reader left out or guessed stands beside what the engine did. */
export function withWarnings(parsed: ParsedText, warnings: readonly string[]): ParsedText {
  if (warnings.length === 0) return parsed;
  const { document } = parsed;
  return { ...parsed, document: { ...document, warnings: [...warnings, ...document.warnings] } };
}
