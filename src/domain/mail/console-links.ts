/** The pages of the console that mail leads to. */
export interface ConsoleLinks {
  readonly home: string;
  readonly billing: string;
  readonly keys: string;
  readonly calls: string;
  meeting(meetingId: string): string;
  invitation(token: string): string;
  passwordReset(token: string): string;
}

/**
 * `consoleUrl` is where the console is reached from outside. Tokens stand behind the `#`: a browser sends that part
 * to nobody, so they are in no server's log and in no Referer.
 */
export function createConsoleLinks(consoleUrl: string): ConsoleLinks {
  const base = readBase(consoleUrl);
  const page = (path: string) => `${base}/${path}`;
  return {
    home: `${base}/`,
    billing: page('billing'),
    keys: page('keys'),
    calls: page('calls'),
    meeting: (meetingId) => page(`meetings/${encodeURIComponent(meetingId)}`),
    invitation: (token) => page(`invitation#token=${encodeURIComponent(token)}`),
    passwordReset: (token) => page(`reset-password#token=${encodeURIComponent(token)}`),
  };
}

function readBase(consoleUrl: string): string {
  const url = URL.parse(consoleUrl);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new TypeError('the console’s address must begin with http:// or https://');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
