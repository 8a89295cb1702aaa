export interface ReadEml {
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
 * Reads back what compose.ts wrote: one message, a part of plain text and a part of HTML. Of a file that is
 * something else it makes what it can, and what it cannot find is empty.
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
  // A line that begins with a blank goes on with the one before it.
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
  // An equals sign at the end of a line says that the line goes on.
  if (encoding === 'quoted-printable') return unquote(body.replace(/=[ \t]*\r\n/g, '')).toString('utf8');
  return body;
}

function unquote(text: string): Buffer {
  const character = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16));
  return Buffer.from(text.replace(/=([0-9A-F]{2})/gi, character), 'latin1');
}

/** Words in other than plain letters stand encoded in a header, and a long one in several pieces. */
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
