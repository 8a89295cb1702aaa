import SMTPConnection from 'nodemailer/lib/smtp-connection';

interface SessionOptions {
  readonly server: MailServer;
  /** PEM; defaults to those that the runtime trusts. */
  readonly certificateAuthorities?: string;
  readonly connectTimeoutMs: number;
  readonly greetingTimeoutMs: number;
  /** A server that sends nothing for this long is considered gone. */
  readonly silenceTimeoutMs: number;
}

/** One connection to the server, used for one message at a time. Rejections are nodemailer's errors. */
export interface SmtpSession {
  /** Connects, encrypts and logs in. */
  open(): Promise<void>;
  /** True if the server still responds; resets whatever the previous message left. */
  isReady(): Promise<boolean>;
  /** Resolves once the server has accepted the message. */
  send(from: string, to: string, raw: Buffer): Promise<void>;
  readonly sent: number;
  readonly isBroken: boolean;
  /** Ends the session with QUIT. */
  end(): void;
  /** Cuts the connection: what the server has not received by now is not sent. */
  destroy(reason: string): void;
}

type Done<T> = (error?: Error | null, value?: T) => void;

/**
 * nodemailer has its own pool, but that one resends a message on its own if a connection breaks, and cannot end a
 * single delivery. Whether a message may be sent twice is our decision, so the pool is ours.
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
      // Closing alone would still send what is already buffered.
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

interface SessionPool {
  take(): SmtpSession | null;
  /** Keeps it for the next message, or ends it if it is broken or has sent its number of messages. */
  keep(session: SmtpSession): void;
  endAll(): void;
}

interface Bounds {
  readonly idleMs: number;
  /** Some servers count messages, and disconnect in the middle of one too many. */
  readonly messagesPerConnection: number;
}

/** Idle connections, kept for the next message. */
export function createSessionPool({ idleMs, messagesPerConnection }: Bounds): SessionPool {
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

export interface MailServer {
  readonly host: string;
  readonly port: number;
  /**
   * `from-the-start` for smtps://; `required` and `where-offered` use STARTTLS. A certificate is always verified: a
   * server with an invalid one gets no mail.
   */
  readonly encryption: 'from-the-start' | 'required' | 'where-offered' | 'none';
  readonly account: { readonly user: string; readonly pass: string } | null;
}

type ReadServerAddress =
  | { readonly outcome: 'read'; readonly server: MailServer }
  /** Never contains the address itself, which may contain a password. */
  | { readonly outcome: 'invalid'; readonly reason: string };

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);
const MAX_CHARACTERS = 2_000;

/**
 * `smtps://user:password@host:465` or `smtp://user:password@host:587`, with `?tls=required` or `?tls=off`. A password
 * is not sent unencrypted to another machine unless `?tls=off` is given.
 */
export function readServerAddress(address: string): ReadServerAddress {
  const url = address.length > MAX_CHARACTERS ? null : URL.parse(address);
  if (url === null || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') || url.hostname === '') {
    return invalid('must be an address like smtp://user:password@host:587 or smtps://user:password@host:465');
  }
  if (url.pathname.length > 1 || url.hash !== '') return invalid('must end with the port, or with ?tls=');
  const tls = url.searchParams.get('tls');
  const others = [...url.searchParams.keys()].filter((name) => name !== 'tls');
  if (others.length > 0 || (tls !== null && tls !== 'required' && tls !== 'off')) {
    return invalid('may have ?tls=required or ?tls=off behind it, nothing else');
  }
  if (url.protocol === 'smtps:' && tls === 'off') return invalid('cannot be smtps:// and ?tls=off at once');
  const account = readAccount(url);
  if (account === 'unreadable') {
    return invalid('must have a user and a password, percent-encoded, or neither');
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isFromTheStart = url.protocol === 'smtps:';
  const port = url.port === '' ? (isFromTheStart ? 465 : 587) : Number(url.port);
  const encryption = isFromTheStart ? 'from-the-start' : startTls(tls, account !== null, host);
  return { outcome: 'read', server: { host, port, encryption, account } };
}

function startTls(tls: 'required' | 'off' | null, hasPassword: boolean, host: string) {
  if (tls === 'off') return 'none';
  if (tls === 'required' || (hasPassword && !LOOPBACK.has(host))) return 'required';
  return 'where-offered';
}

function readAccount(url: URL): MailServer['account'] | 'unreadable' {
  if (url.username === '' && url.password === '') return null;
  try {
    const user = decodeURIComponent(url.username);
    const pass = decodeURIComponent(url.password);
    return user === '' || pass === '' ? 'unreadable' : { user, pass };
  } catch {
    return 'unreadable';
  }
}

function invalid(reason: string): ReadServerAddress {
  return { outcome: 'invalid', reason };
}
