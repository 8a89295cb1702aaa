import type { Log } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';

/**
 * Running tool calls of clients of the 2025 protocol, which cancel with a separate message, on any connection and to any
 * process. To identify the call, such a client is given a session id. It is not stored: it only identifies whose request 7 it
 * is. A call that is not found has ended, or runs in another process, which also receives the message.
 */
export interface RunningCalls {
  /** Runs `cancel` when the client cancels, until `ended` is called. */
  begin(call: CallName, cancel: () => void): { ended(): void };
  cancel(call: CallName): void;
  close(): Promise<void>;
}

export interface CallName {
  readonly keyId: string;
  readonly session: string;
  readonly id: string | number;
}

export interface RunningCallsParts {
  readonly sharedState: Pick<SharedState, 'publish' | 'subscribe'>;
  readonly log: Log;
}

const TOPIC = 'mcp-cancelled';
/** Calls with longer names cannot be cancelled. Our ids are UUIDs, and clients count their requests. */
const LONGEST_NAME = 300;

/** For this process only. */
export function createLocalRunningCalls(): RunningCalls {
  const running = new Map<string, () => void>();
  return {
    begin(call, cancel) {
      const name = nameOf(call);
      if (name === null) return { ended: () => {} };
      running.set(name, cancel);
      return {
        ended: () => {
          if (running.get(name) === cancel) running.delete(name);
        },
      };
    },
    cancel: (call) => running.get(nameOf(call) ?? '')?.(),
    async close() {},
  };
}

/** For all processes: cancellations are published to each of them. If a message is lost, the call keeps running. */
export async function createRunningCalls({ sharedState, log }: RunningCallsParts): Promise<RunningCalls> {
  const local = createLocalRunningCalls();
  const subscription = await sharedState.subscribe(
    TOPIC,
    (message) => {
      const call = readName(message);
      if (call !== null) local.cancel(call);
    },
    () => {},
  );
  return {
    begin: local.begin,
    cancel(call) {
      local.cancel(call);
      if (nameOf(call) === null) return;
      sharedState.publish(TOPIC, JSON.stringify(call)).catch((error: unknown) => {
        log.warn('the cancellation of a tool call could not be published to other processes', { error });
      });
    },
    close: () => subscription.close(),
  };
}

/** The type of the id matters: 7 and "7" are different requests. */
function nameOf({ keyId, session, id }: CallName): string | null {
  const name = `${keyId} ${session} ${JSON.stringify(id)}`;
  return name.length > LONGEST_NAME ? null : name;
}

function readName(message: string): CallName | null {
  try {
    return JSON.parse(message) as CallName;
  } catch {
    return null;
  }
}
