import MailComposer from 'nodemailer/lib/mail-composer';
import type { MailMessage } from '../../ports/mail.ts';

export type Composed =
  | { readonly outcome: 'composed'; readonly raw: Buffer; readonly from: string; readonly to: string }
  | { readonly outcome: 'refused'; readonly reason: string };

/** Our mails are a few kilobytes; servers accept ten megabytes and more. */
const MAX_BYTES = 1024 * 1024;
/** A header of ours that is this long is a mistake, and a line of more than 998 characters is not valid in a mail. */
const MAX_HEADER_CHARACTERS = 900;
const HEADER_NAME = /^[A-Za-z][A-Za-z0-9-]{0,60}$/;
/** Characters that could end a header, and others that do not belong in one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it matches
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
const ADDRESS = /^[^\s<>()[\]\\,;:"@]{1,64}@[^\s<>()[\]\\,;:"@]{1,253}$/u;
const MESSAGE_ID = /^[A-Za-z0-9._-]{1,100}@[A-Za-z0-9.-]{1,200}$/;

/**
 * The message as it is sent. This is the last check before the server: whatever the input, nothing in a header can
 * start another one. The same message gives the same bytes, so that a repeat can be recognized.
 */
export async function composeMessage(message: MailMessage): Promise<Composed> {
  const problem = findProblem(message);
  if (problem !== null) return { outcome: 'refused', reason: problem };
  const { messageId, from, to, subject, text, html, date, headers = {} } = message;
  const node = new MailComposer({
    messageId: `<${messageId}>`,
    from: { name: from.name, address: from.address },
    to: { name: '', address: to },
    subject,
    date,
    text,
    html,
    headers: { ...headers },
    encoding: 'quoted-printable',
    baseBoundary: messageId.replace(/@.*$/, ''),
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  const raw = await node.build();
  if (raw.byteLength > MAX_BYTES) {
    return {
      outcome: 'refused',
      reason: `the message has ${raw.byteLength} bytes, ${MAX_BYTES} are allowed`,
    };
  }
  const envelope = node.getEnvelope();
  const [recipient, ...others] = envelope.to;
  if (typeof envelope.from !== 'string' || recipient === undefined || others.length > 0) {
    return { outcome: 'refused', reason: 'the message must have one sender and one recipient' };
  }
  return { outcome: 'composed', raw, from: envelope.from, to: recipient };
}

function findProblem({ messageId, from, to, subject, date, headers = {} }: MailMessage): string | null {
  if (!MESSAGE_ID.test(messageId)) return 'the Message-ID is not of the form id@domain';
  if (Number.isNaN(date.getTime())) return 'the date is none';
  if (!isAddress(from.address)) return 'the sender is no mail address';
  if (!isAddress(to)) return 'the recipient is no mail address';
  if (!isHeaderValue(from.name)) return 'the sender’s name is too long or holds a line break';
  if (!isHeaderValue(subject)) return 'the subject is too long or holds a line break';
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) return 'a header has a name that is none';
    if (!isHeaderValue(value)) return `the header ${name} is too long or holds a line break`;
  }
  return null;
}

function isAddress(text: string): boolean {
  return ADDRESS.test(text) && !CONTROL.test(text);
}

function isHeaderValue(text: string): boolean {
  return text.length <= MAX_HEADER_CHARACTERS && !CONTROL.test(text);
}

interface ReadEml {
  readonly messageId: string;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

interface Part {
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * Reads what composeMessage wrote: one message with a plain text part and an HTML part. Other files are read as far as
 * possible; what cannot be found is empty.
 */
export function readEml(eml: string): ReadEml {
  const message = splitPart(eml);
  const header = (name: string) => decodeWords(message.headers.get(name) ?? '');
  const boundary = /boundary="([^"]+)"/i.exec(message.headers.get('content-type') ?? '')?.[1];
  const parts = boundary === undefined ? [message] : splitBody(message.body, boundary);
  const bodyOf = (type: string) => {
    const part = parts.find(({ headers }) => headers.get('content-type')?.toLowerCase().startsWith(type));
    return part === undefined ? '' : decodeBody(part).replaceAll('\r\n', '\n').replace(/\n$/, '');
  };
  return {
    messageId: header('message-id').replace(/^<|>$/g, ''),
    from: header('from'),
    to: header('to'),
    subject: header('subject'),
    text: bodyOf('text/plain'),
    html: bodyOf('text/html'),
  };
}

function splitPart(source: string): Part {
  const end = source.indexOf('\r\n\r\n');
  const head = end === -1 ? source : source.slice(0, end);
  const headers = new Map<string, string>();
  // A line that starts with a blank continues the previous one.
  for (const line of head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    if (colon > 0 && !headers.has(name)) headers.set(name, line.slice(colon + 1).trim());
  }
  return { headers, body: end === -1 ? '' : source.slice(end + 4) };
}

function splitBody(body: string, boundary: string): Part[] {
  const [inside = ''] = `\r\n${body}`.split(`\r\n--${boundary}--`);
  return inside.split(`\r\n--${boundary}\r\n`).slice(1).map(splitPart);
}

function decodeBody({ headers, body }: Part): string {
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase();
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8');
  // An equals sign at the end of a line means that the line continues.
  if (encoding === 'quoted-printable') return unquote(body.replace(/=[ \t]*\r\n/g, '')).toString('utf8');
  return body;
}

function unquote(text: string): Buffer {
  const character = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16));
  return Buffer.from(text.replace(/=([0-9A-F]{2})/gi, character), 'latin1');
}

/** Words with non-ASCII characters are encoded in a header, long ones in several pieces. */
function decodeWords(value: string): string {
  const joined = value.replace(/\?=\s+=\?/g, '?==?');
  return joined.replace(/(?:=\?utf-8\?[qb]\?[^?]*\?=)+/gi, (run) => {
    const words = [...run.matchAll(/=\?utf-8\?([qb])\?([^?]*)\?=/gi)];
    const pieces = words.map(([, kind = '', word = '']) =>
      kind.toLowerCase() === 'b' ? Buffer.from(word, 'base64') : unquote(word.replaceAll('_', ' ')),
    );
    return Buffer.concat(pieces).toString('utf8');
  });
}
