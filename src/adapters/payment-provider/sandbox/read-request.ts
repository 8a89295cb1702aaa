import { type FormGroup, readForm } from './form-body.ts';
import { invalid, refusal } from './refusal.ts';

const LARGEST_BODY_BYTES = 1024 * 1024;

/** The body as text, up to a bound that is counted here whatever its header says. */
export async function readText(request: Request): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > LARGEST_BODY_BYTES) {
      const message = `The request body is larger than ${LARGEST_BODY_BYTES} bytes.`;
      throw refusal(413, { type: 'invalid_request_error', message });
    }
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** The parameters of a request of the wire: in the address of a GET, form-encoded in the body of all others. */
export async function readParameters(request: Request, url: URL): Promise<FormGroup> {
  if (request.method === 'GET' || request.method === 'DELETE') return readForm(url.search.slice(1));
  const text = await readText(request);
  const contentType = request.headers.get('content-type') ?? '';
  if (text !== '' && contentType.includes('json')) {
    const message = 'Invalid request: send parameters as application/x-www-form-urlencoded, not as JSON.';
    throw invalid(message);
  }
  return readForm(text);
}

/** The parameters of the sandbox's own switches, which may also come as JSON. */
export async function readOwnParameters(request: Request): Promise<FormGroup> {
  const text = await readText(request);
  if (!(request.headers.get('content-type') ?? '').includes('json')) return readForm(text);
  try {
    const parsed: unknown = JSON.parse(text);
    const pairs = Object.entries(parsed as Record<string, unknown>);
    return readForm(new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString());
  } catch {
    throw invalid('The body is not a JSON object.');
  }
}
