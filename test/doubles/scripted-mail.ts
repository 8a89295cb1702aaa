import type { Mail, MailMessage, MailOutcome } from '../../src/ports/mail.ts';

interface ScriptedMail extends Mail {
  /** What was handed over, accepted or not. */
  readonly sent: MailMessage[];
  /** The outcomes of the next messages, in order; past them all are accepted. An Error is thrown. */
  answer(...outcomes: readonly (MailOutcome | Error | Promise<MailOutcome>)[]): void;
}

/** A scripted mail server. */
export function createScriptedMail(): ScriptedMail {
  const sent: MailMessage[] = [];
  const next: (MailOutcome | Error | Promise<MailOutcome>)[] = [];
  return {
    sent,
    answer: (...outcomes) => void next.push(...outcomes),
    async send(message) {
      sent.push(message);
      const answer = next.shift() ?? { outcome: 'accepted' };
      if (answer instanceof Error) throw answer;
      return await answer;
    },
    close: async () => {},
  };
}
