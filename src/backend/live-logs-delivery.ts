import { type ExecutionArgs, execute } from 'graphql';
import type { LogEntry } from '../ports/log.ts';
import { showableResult } from './graphql/mask-errors.ts';
import type { RequestContext } from './graphql/request-context.ts';

/** What a subscription asks for of each line. All subscriptions that ask for the same share one. */
export interface Selection {
  /** The line as the answer's `payload`, in JSON. */
  textOf(entry: LogEntry): Promise<string> | string;
  /** Once for each subscription that took it. */
  release(): void;
}

export interface Selections {
  take(args: ExecutionArgs, query: string): Selection;
}

interface Shared {
  readonly texts: WeakMap<LogEntry, Promise<string> | string>;
  readonly write: (entry: LogEntry) => Promise<string>;
  users: number;
}

/**
 * A line is worked out and written once for all who ask for the same of it: at 200 lines a second, a thousand watchers
 * of the console are 200 executions a second, not 200,000. What a line shows depends on nobody's rights: each of those
 * who share it was let in by its own.
 */
export function createSelections(): Selections {
  const shared = new Map<string, Shared>();

  return {
    take(args, query) {
      const key = JSON.stringify([query, args.operationName, args.variableValues]);
      const found = shared.get(key);
      const own = found ?? { texts: new WeakMap(), write: (entry) => textOf(args, entry), users: 0 };
      own.users += 1;
      shared.set(key, own);
      return {
        textOf(entry) {
          const known = own.texts.get(entry);
          if (known !== undefined) return known;
          const writing = own.write(entry).then((text) => {
            own.texts.set(entry, text);
            return text;
          });
          own.texts.set(entry, writing);
          return writing;
        },
        release() {
          own.users -= 1;
          if (own.users === 0) shared.delete(key);
        },
      };
    },
  };
}

async function textOf(args: ExecutionArgs, entry: LogEntry): Promise<string> {
  const result = await execute({ ...args, rootValue: entry });
  return JSON.stringify(showableResult(args.contextValue as RequestContext, result));
}

/** The messages that carry these lines to one subscription. */
export async function messagesOf(
  id: string,
  selection: Selection,
  lines: readonly LogEntry[],
): Promise<string[]> {
  const head = `{"id":${JSON.stringify(id)},"type":"next","payload":`;
  const messages: string[] = [];
  for (const line of lines) {
    const text = selection.textOf(line);
    messages.push(`${head}${typeof text === 'string' ? text : await text}}`);
  }
  return messages;
}
