import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { MailServer } from './server-address.ts';

export interface SessionOptions {
  readonly server: MailServer;
  /** PEM; without it those that the runtime trusts. */
  readonly certificateAuthorities?: string;
  readonly connectTimeoutMs: number;
  readonly greetingTimeoutMs: number;
  /** The server says nothing for this long: it is gone. */
  readonly silenceTimeoutMs: number;
}

/** One connection to the server, used for one message at a time. Rejections are nodemailer's errors. */
export interface SmtpSession {
  /** Connects, encrypts, logs in. */
  open(): Promise<void>;
  /** True where the server still listens, with nothing left of the message before. */
  isReady(): Promise<boolean>;
  /** Resolves once the server has taken the message. */
  send(from: string, to: string, raw: Buffer): Promise<void>;
  readonly sent: number;
  readonly isBroken: boolean;
  /** Says good-bye. */
  end(): void;
  /** Cuts the line: what the server does not have by now it does not get. */
  destroy(reason: string): void;
}

type Done<T> = (error?: Error | null, value?: T) => void;

/**
 * nodemailer has a pool of its own, but that one sends a message anew by itself where a connection breaks, and
 * cannot end a single delivery. Whether a message goes out twice is ours to decide, so the pool is ours too.
 */
export function createSmtpSession(options: SessionOptions): SmtpSession {
  const { server } = options;
  const connection = new SMTPConnection(connectionOptions(options));
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => {});
  let isBroken = false;
  let sent = 0;

  function breakOff(error: Error): void {
    isBroken = true;
    broken.reject(error);
  }
  connection.on('error', breakOff);
  connection.on('end', () => breakOff(new Error('the server closed the connection')));

  async function step<T>(begin: (done: Done<T>) => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    begin((error) => (error ? reject(error) : resolve()));
    await Promise.race([promise, broken.promise]);
  }

  return {
    async open() {
      await step((done) => connection.connect(done));
      if (server.account !== null && !connection.allowsAuth) {
        throw Object.assign(new Error('the server offers no log-in'), { command: 'AUTH' });
      }
      if (server.account !== null) await step((done) => connection.login({ ...server.account }, done));
    },
    async isReady() {
      if (isBroken) return false;
      return await step((done) => connection.reset(done)).then(
        () => true,
        () => false,
      );
    },
    async send(from, to, raw) {
      await step((done) => connection.send({ from, to: [to], size: raw.byteLength }, raw, done));
      sent += 1;
    },
    get sent() {
      return sent;
    },
    get isBroken() {
      return isBroken;
    },
    end() {
      if (isBroken) connection.close();
      else connection.quit();
      isBroken = true;
    },
    destroy(reason) {
      const socket = connection._socket;
      breakOff(new Error(reason));
      connection.close();
      // Closing alone lets what is already buffered go out.
      if (socket) socket.destroy();
    },
  };
}

function connectionOptions(options: SessionOptions): SMTPConnection.Options {
  const { server, certificateAuthorities, connectTimeoutMs, greetingTimeoutMs, silenceTimeoutMs } = options;
  return {
    host: server.host,
    port: server.port,
    secure: server.encryption === 'from-the-start',
    requireTLS: server.encryption === 'required',
    ignoreTLS: server.encryption === 'none',
    connectionTimeout: connectTimeoutMs,
    dnsTimeout: connectTimeoutMs,
    greetingTimeout: greetingTimeoutMs,
    socketTimeout: silenceTimeoutMs,
    maxResponseSize: 64 * 1024,
    tls: {
      minVersion: 'TLSv1.2',
      ...(certificateAuthorities === undefined ? {} : { ca: certificateAuthorities }),
    },
  };
}
