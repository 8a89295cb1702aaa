import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { createSmtpMail, type SmtpOptions } from '../../../src/adapters/mail/smtp.ts';
import { readServerAddress } from '../../../src/adapters/mail/smtp-session.ts';
import type { MailMessage } from '../../../src/ports/mail.ts';

interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly eml: string;
  readonly isEncrypted: boolean;
  readonly user: string | null;
  readonly session: string;
}

export interface MailServerUnderTest {
  readonly port: number;
  readonly received: ReceivedMail[];
  /** Connections so far. */
  readonly sessions: Set<string>;
  /** Hangs up on every client, without a word. */
  hangUp(): void;
  close(): Promise<void>;
}

type Answer = Error | null;
export interface Script {
  onRecipient?(to: string, tries: number): Answer;
  onMessage?(eml: string, tries: number): Answer | Promise<Answer>;
  options?: SMTPServerOptions;
}

/** A reply of the server's with this code. */
export function reply(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}

/** A real SMTP server on loopback, which keeps what it takes and refuses what the script says. */
export async function startMailServer(script: Script = {}): Promise<MailServerUnderTest> {
  const received: ReceivedMail[] = [];
  const sessions = new Set<string>();
  let recipients = 0;
  let messages = 0;

  async function take(source: AsyncIterable<Uint8Array>, session: SMTPServerSession): Promise<Answer> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of source) chunks.push(chunk);
    const eml = Buffer.concat(chunks).toString('utf8');
    messages += 1;
    const answer = (await script.onMessage?.(eml, messages)) ?? null;
    if (answer !== null) return answer;
    const { mailFrom, rcptTo } = session.envelope;
    received.push({
      from: mailFrom === false ? '' : mailFrom.address,
      to: rcptTo.map(({ address }) => address),
      eml,
      isEncrypted: session.secure,
      user: session.user ?? null,
      session: session.id,
    });
    return null;
  }

  const server = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    disableReverseLookup: true,
    onConnect: (session, done) => {
      sessions.add(session.id);
      done();
    },
    onRcptTo: ({ address }, _session, done) => {
      recipients += 1;
      done(script.onRecipient?.(address, recipients) ?? null);
    },
    onData: (stream, session, done) => void take(stream, session).then(done, done),
    ...script.options,
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  function hangUp(): void {
    for (const { _socket } of server.connections) if (_socket) _socket.destroy();
  }
  return {
    port,
    received,
    sessions,
    hangUp,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

export function mailTo(address: string, options: Partial<SmtpOptions> = {}) {
  const read = readServerAddress(address);
  if (read.outcome === 'invalid') throw new Error(read.reason);
  return createSmtpMail({ server: read.server, ...options });
}

export function message(changes: Partial<MailMessage> = {}): MailMessage {
  return {
    messageId: `${crypto.randomUUID()}@mail.example`,
    from: { name: 'Türnpike, "the" <gateway>', address: 'no-reply@mail.example' },
    to: 'ada@customer.example',
    subject: 'Grüße 😀',
    text: 'Hello\n.\n..dots\n',
    html: '<p>Hello ä</p>',
    date: new Date(Date.UTC(2030, 0, 1)),
    ...changes,
  };
}
