import type { SmtpSession } from './smtp-session.ts';

export interface KeptSessions {
  take(): SmtpSession | null;
  /** Keeps it for the next message, or ends it where it is broken or has done its share. */
  keep(session: SmtpSession): void;
  endAll(): void;
}

interface Bounds {
  readonly idleMs: number;
  /** Some servers count, and hang up in the middle of one more. */
  readonly messagesPerConnection: number;
}

/** Connections between two messages. */
export function createKeptSessions({ idleMs, messagesPerConnection }: Bounds): KeptSessions {
  const idle = new Map<SmtpSession, ReturnType<typeof setTimeout>>();

  function take(): SmtpSession | null {
    const [first] = idle;
    if (first === undefined) return null;
    const [session, timer] = first;
    clearTimeout(timer);
    idle.delete(session);
    return session;
  }

  return {
    take,
    keep(session) {
      if (session.isBroken || session.sent >= messagesPerConnection) return session.end();
      const timer = setTimeout(() => {
        idle.delete(session);
        session.end();
      }, idleMs);
      timer.unref();
      idle.set(session, timer);
    },
    endAll() {
      for (let session = take(); session !== null; session = take()) session.end();
    },
  };
}
