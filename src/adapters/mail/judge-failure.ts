import type { MailOutcome } from '../../ports/mail.ts';

/** What nodemailer's errors may carry. */
interface SmtpError {
  readonly message?: unknown;
  readonly code?: unknown;
  /** The step that failed: `CONN`, `AUTH PLAIN`, `MAIL FROM`, `RCPT TO`, `DATA`, or `API` where nothing was sent. */
  readonly command?: unknown;
  readonly response?: unknown;
  readonly responseCode?: unknown;
}

/** The steps that are about this message. A refusal at any other is about the server or our account there. */
const MESSAGE_STEPS = new Set(['MAIL FROM', 'RCPT TO', 'DATA']);
/**
 * Refusals for good by their first digit that are about the session all the same: commands not known or out of
 * order, log-in missing or too weak. An operator mends them, and then the mail goes out.
 */
const ABOUT_THE_SESSION = new Set([500, 502, 503, 530, 534, 535, 538]);
const MAX_REASON_CHARACTERS = 300;

/** What a failed try means for the mail. What is not known to be for good may be tried again. */
export function judgeFailure(error: unknown, to: string): MailOutcome {
  const { message, code, command, response, responseCode } = (error ?? {}) as SmtpError;
  const step = typeof command === 'string' ? command : 'CONN';
  const said =
    typeof response === 'string' && response !== '' ? response : String(message ?? 'no reason given');
  const reason = cleanReason(`${step}: ${said}`, to);
  if (isForGood(step, code, responseCode)) return { outcome: 'refused', reason };
  return { outcome: 'failed', reason };
}

function isForGood(step: string, code: unknown, responseCode: unknown): boolean {
  if (typeof responseCode === 'number') {
    return responseCode >= 500 && MESSAGE_STEPS.has(step) && !ABOUT_THE_SESSION.has(responseCode);
  }
  // Found by the client itself: an address no server takes, or more bytes than this one said it takes.
  return (code === 'EENVELOPE' && step === 'API') || (code === 'EMESSAGE' && step === 'MAIL FROM');
}

/** One short line without addresses and links: servers repeat to us what we sent to them. */
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
