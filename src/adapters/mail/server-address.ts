export interface MailServer {
  readonly host: string;
  readonly port: number;
  /**
   * `from-the-start` as smtps:// has it; `required` and `where-offered` by STARTTLS. A certificate is checked
   * wherever there is one: a server with a wrong one gets no mail.
   */
  readonly encryption: 'from-the-start' | 'required' | 'where-offered' | 'none';
  readonly account: { readonly user: string; readonly pass: string } | null;
}

export type ReadServerAddress =
  | { readonly outcome: 'read'; readonly server: MailServer }
  /** Never holds the address itself, which may hold a password. */
  | { readonly outcome: 'invalid'; readonly reason: string };

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);
const MAX_CHARACTERS = 2_000;

/**
 * `smtps://user:password@host:465` or `smtp://user:password@host:587`, with `?tls=required` or `?tls=off`. A
 * password is not sent over an open line to another machine unless `?tls=off` says so.
 */
export function readServerAddress(address: string): ReadServerAddress {
  const url = address.length > MAX_CHARACTERS ? null : URL.parse(address);
  if (url === null || (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') || url.hostname === '') {
    return invalid('must be an address like smtp://user:password@host:587 or smtps://user:password@host:465');
  }
  if (url.pathname.length > 1 || url.hash !== '') return invalid('must end with the port, or with ?tls=');
  const wish = url.searchParams.get('tls');
  const others = [...url.searchParams.keys()].filter((name) => name !== 'tls');
  if (others.length > 0 || (wish !== null && wish !== 'required' && wish !== 'off')) {
    return invalid('may have ?tls=required or ?tls=off behind it, nothing else');
  }
  if (url.protocol === 'smtps:' && wish === 'off') return invalid('cannot be smtps:// and ?tls=off at once');
  const account = readAccount(url);
  if (account === 'unreadable') {
    return invalid('must have a user and a password, percent-encoded, or neither');
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isFromTheStart = url.protocol === 'smtps:';
  const port = url.port === '' ? (isFromTheStart ? 465 : 587) : Number(url.port);
  const encryption = isFromTheStart ? 'from-the-start' : startTls(wish, account !== null, host);
  return { outcome: 'read', server: { host, port, encryption, account } };
}

function startTls(wish: 'required' | 'off' | null, hasPassword: boolean, host: string) {
  if (wish === 'off') return 'none';
  if (wish === 'required' || (hasPassword && !LOOPBACK.has(host))) return 'required';
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
