import type { Mail } from '../../ports/mail.ts';
import { type Composed, composeMessage } from './compose.ts';
import { judgeFailure } from './judge-failure.ts';
import { createKeptSessions } from './kept-sessions.ts';
import type { MailServer } from './server-address.ts';
import { createSmtpSession, type SmtpSession } from './smtp-session.ts';

export interface SmtpOptions {
  readonly server: MailServer;
  /** PEM; without it those that the runtime trusts. */
  readonly certificateAuthorities?: string;
  readonly maxConnections?: number;
  readonly connectTimeoutMs?: number;
  readonly greetingTimeoutMs?: number;
  /** Servers look through a message before they answer; two minutes are long, but they exist. */
  readonly silenceTimeoutMs?: number;
  /**
   * From the first step to the server's last word. The line is cut past it, whatever a server that trickles its
   * answers has to say. Whoever claims a mail before sending it claims it for longer than this.
   */
  readonly sendTimeoutMs?: number;
  readonly idleMs?: number;
  readonly messagesPerConnection?: number;
}

type ReadyMessage = Extract<Composed, { outcome: 'composed' }>;

const MAX_WAITING = 1_000;
const STOPPING = 'the process stops';

/**
 * Mail by SMTP, over a few connections that are kept for the next message. A connection that was kept is asked
 * (RSET) before a message goes over it, so a server that hung up meanwhile costs a new connection and not a try.
 */
export function createSmtpMail(options: SmtpOptions): Mail {
  const { maxConnections = 4, idleMs = 10_000, messagesPerConnection = 100 } = options;
  const { sendTimeoutMs = 180_000 } = options;
  const timeouts = { connectTimeoutMs: 10_000, greetingTimeoutMs: 30_000, silenceTimeoutMs: 120_000 };
  const sessionOptions = { ...timeouts, ...options };
  const kept = createKeptSessions({ idleMs, messagesPerConnection });
  const deliveries = new Set<Delivery>();
  const waiting: (() => void)[] = [];
  let freePlaces = maxConnections;
  let whenEmpty: (() => void) | null = null;
  let closed = false;

  async function takePlace(): Promise<boolean> {
    if (freePlaces === 0 && waiting.length >= MAX_WAITING) return false;
    // A place goes from hand to hand: whoever leaves wakes the next, and it does not count as free in between.
    if (freePlaces === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else freePlaces -= 1;
    return true;
  }

  function leavePlace(): void {
    const next = waiting.shift();
    if (next === undefined) freePlaces += 1;
    else next();
    if (freePlaces === maxConnections) whenEmpty?.();
  }

  async function readySession(delivery: Delivery): Promise<SmtpSession> {
    const old = kept.take();
    if (old !== null) {
      if (await delivery.use(old).isReady()) return old;
      old.end();
    }
    const fresh = delivery.use(createSmtpSession(sessionOptions));
    await fresh.open();
    return fresh;
  }

  async function deliver({ from, to, raw }: ReadyMessage): Promise<void> {
    const delivery = createDelivery();
    deliveries.add(delivery);
    const deadline = setTimeout(() => delivery.cut(`it took longer than ${sendTimeoutMs} ms`), sendTimeoutMs);
    try {
      const session = await readySession(delivery);
      await session.send(from, to, raw);
    } finally {
      clearTimeout(deadline);
      deliveries.delete(delivery);
      const session = delivery.session();
      if (session !== null) kept.keep(session);
      if (closed) kept.endAll();
    }
  }

  return {
    async send(message) {
      const composed = await composeMessage(message);
      if (composed.outcome === 'refused') return composed;
      if (!(await takePlace())) return { outcome: 'failed', reason: 'too many messages wait to be sent' };
      try {
        if (closed) return { outcome: 'failed', reason: STOPPING };
        await deliver(composed);
        return { outcome: 'accepted' };
      } catch (error) {
        return judgeFailure(error, message.to);
      } finally {
        leavePlace();
      }
    },
    async close(deadlineMs) {
      closed = true;
      kept.endAll();
      if (freePlaces === maxConnections) return;
      const deadline = setTimeout(() => {
        for (const delivery of deliveries) delivery.cut(STOPPING);
      }, deadlineMs);
      await new Promise<void>((resolve) => {
        whenEmpty = resolve;
      });
      clearTimeout(deadline);
    },
  };
}

interface Delivery {
  /** The connection it goes over now. Throws where it has been cut off. */
  use(session: SmtpSession): SmtpSession;
  session(): SmtpSession | null;
  cut(reason: string): void;
}

function createDelivery(): Delivery {
  let current: SmtpSession | null = null;
  let cutFor: string | null = null;
  return {
    use(session) {
      if (cutFor !== null) throw new Error(cutFor);
      current = session;
      return session;
    },
    session: () => current,
    cut(reason) {
      cutFor = reason;
      current?.destroy(reason);
    },
  };
}
