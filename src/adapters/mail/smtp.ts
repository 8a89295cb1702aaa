import type { Mail, MailOutcome } from '../../ports/mail.ts';
import { type Composed, composeMessage } from './mime-message.ts';
import { createSessionPool, createSmtpSession, type MailServer, type SmtpSession } from './smtp-session.ts';

export interface SmtpOptions {
  readonly server: MailServer;
  /** PEM; defaults to those that the runtime trusts. */
  readonly certificateAuthorities?: string;
  readonly maxConnections?: number;
  readonly connectTimeoutMs?: number;
  readonly greetingTimeoutMs?: number;
  /** Servers scan a message before they answer; two minutes are rare, but do occur. */
  readonly silenceTimeoutMs?: number;
  /**
   * From the first step to the server's last reply. The connection is cut after this time, even if a slow server is
   * still sending. A mail that is claimed before it is sent must be claimed for longer than this.
   */
  readonly sendTimeoutMs?: number;
  readonly idleMs?: number;
  readonly messagesPerConnection?: number;
}

type ReadyMessage = Extract<Composed, { outcome: 'composed' }>;

const MAX_WAITING = 1_000;
const STOPPING = 'the process stops';

/**
 * Sends mail by SMTP, over a few connections that are kept for the next message. A kept connection is checked (RSET)
 * before it is used, so that a server that has disconnected costs a new connection and not an attempt.
 */
export function createSmtpMail(options: SmtpOptions): Mail {
  const { maxConnections = 4, idleMs = 10_000, messagesPerConnection = 100 } = options;
  const { sendTimeoutMs = 180_000 } = options;
  const timeouts = { connectTimeoutMs: 10_000, greetingTimeoutMs: 30_000, silenceTimeoutMs: 120_000 };
  const sessionOptions = { ...timeouts, ...options };
  const pool = createSessionPool({ idleMs, messagesPerConnection });
  const deliveries = new Set<Delivery>();
  const waiting: (() => void)[] = [];
  let freePlaces = maxConnections;
  let whenEmpty: (() => void) | null = null;
  let closed = false;

  async function acquireSlot(): Promise<boolean> {
    if (freePlaces === 0 && waiting.length >= MAX_WAITING) return false;
    // A slot passes directly to the next waiter and does not count as free in between.
    if (freePlaces === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else freePlaces -= 1;
    return true;
  }

  function releaseSlot(): void {
    const next = waiting.shift();
    if (next === undefined) freePlaces += 1;
    else next();
    if (freePlaces === maxConnections) whenEmpty?.();
  }

  async function readySession(delivery: Delivery): Promise<SmtpSession> {
    const old = pool.take();
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
      if (session !== null) pool.keep(session);
      if (closed) pool.endAll();
    }
  }

  return {
    async send(message) {
      const composed = await composeMessage(message);
      if (composed.outcome === 'refused') return composed;
      if (!(await acquireSlot())) return { outcome: 'failed', reason: 'too many messages wait to be sent' };
      try {
        if (closed) return { outcome: 'failed', reason: STOPPING };
        await deliver(composed);
        return { outcome: 'accepted' };
      } catch (error) {
        return judgeFailure(error, message.to);
      } finally {
        releaseSlot();
      }
    },
    async close(deadlineMs) {
      closed = true;
      pool.endAll();
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
  /** Sets and returns the current connection. Throws if the delivery has been cut off. */
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

/** The fields that nodemailer's errors may have. */
interface SmtpError {
  readonly message?: unknown;
  readonly code?: unknown;
  /** The step that failed: `CONN`, `AUTH PLAIN`, `MAIL FROM`, `RCPT TO`, `DATA`, or `API` if nothing was sent. */
  readonly command?: unknown;
  readonly response?: unknown;
  readonly responseCode?: unknown;
}

/** The steps that concern this message. A refusal at any other concerns the server or our account there. */
const MESSAGE_STEPS = new Set(['MAIL FROM', 'RCPT TO', 'DATA']);
/**
 * Permanent refusals by their first digit that nevertheless concern the session: commands that are unknown or out of
 * order, a log-in that is missing or too weak. Once an operator has fixed the cause, the mail is sent.
 */
const ABOUT_THE_SESSION = new Set([500, 502, 503, 530, 534, 535, 538]);
const MAX_REASON_CHARACTERS = 300;

/** What a failed attempt means for the mail. A failure that is not known to be permanent may be retried. */
function judgeFailure(error: unknown, to: string): MailOutcome {
  const { message, code, command, response, responseCode } = (error ?? {}) as SmtpError;
  const step = typeof command === 'string' ? command : 'CONN';
  const reply =
    typeof response === 'string' && response !== '' ? response : String(message ?? 'no reason given');
  const reason = cleanReason(`${step}: ${reply}`, to);
  if (isForGood(step, code, responseCode)) return { outcome: 'refused', reason };
  return { outcome: 'failed', reason };
}

function isForGood(step: string, code: unknown, responseCode: unknown): boolean {
  if (typeof responseCode === 'number') {
    return responseCode >= 500 && MESSAGE_STEPS.has(step) && !ABOUT_THE_SESSION.has(responseCode);
  }
  // Detected by the client: an address that no server accepts, or more bytes than this server accepts.
  return (code === 'EENVELOPE' && step === 'API') || (code === 'EMESSAGE' && step === 'MAIL FROM');
}

/** One short line without addresses and links, because servers repeat what we sent them. */
export function cleanReason(text: string, to: string): string {
  const localPart = to.split('@')[0] ?? '';
  const name =
    localPart.length < 3
      ? null
      : new RegExp(`(?<![\\p{L}\\p{N}])${escaped(localPart)}(?![\\p{L}\\p{N}])`, 'giu');
  const oneLine = text
    .slice(0, 4_000)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/\b[a-z][a-z0-9+.-]{1,10}:\/\/\S+/gi, '[link]')
    .replace(/[^\s<>]+@[^\s<>]+/g, '[address]');
  const clean = name === null ? oneLine : oneLine.replace(name, '[address]');
  return clean.trim().slice(0, MAX_REASON_CHARACTERS).toWellFormed();
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
