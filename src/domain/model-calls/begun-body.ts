import type { BodyRead, UpstreamBody } from '../../ports/model-upstream.ts';

/** A body whose beginning was read. It is read again from its start. */
export interface BegunBody {
  /** Whether it begins like server-sent events. */
  readonly isStream: boolean;
  readonly body: UpstreamBody;
}

const FIELDS = [':', 'data:', 'event:', 'id:', 'retry:'];
const LONGEST_FIELD = 6;
/** Blank lines before the first field, beyond which it is no stream. */
const MOST_BLANK_BYTES = 4_096;
const BLANK_LINES = /^[\r\n]+/;

/**
 * Reads as much of a body as shows whether it is a stream. Some servers name no media type for their streams, or a wrong
 * one: LMDeploy's proxy none, RamaLama `text/plain`, a proxy of vLLM `application/json`. The official clients do not look at
 * it.
 */
export async function readBeginning(body: UpstreamBody, idleMs: number): Promise<BegunBody> {
  const reads: BodyRead[] = [];
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for (let isStream: boolean | null = null; ; ) {
    const next = await body.read(idleMs);
    reads.push(next);
    if (next === null || typeof next === 'string') isStream = false;
    else {
      size += next.length;
      text += decoder.decode(next.subarray(0, MOST_BLANK_BYTES), { stream: true });
      text = text.replace(BLANK_LINES, '');
      isStream = beginsAsStream(text) ?? (size > MOST_BLANK_BYTES ? false : null);
    }
    if (isStream !== null) return { isStream, body: replayed(reads, body) };
  }
}

/** Null if the text is too short to show it. */
function beginsAsStream(text: string): boolean | null {
  if (FIELDS.some((field) => text.startsWith(field))) return true;
  const mayFollow = text.length < LONGEST_FIELD && FIELDS.some((field) => field.startsWith(text));
  return mayFollow ? null : false;
}

function replayed(reads: BodyRead[], body: UpstreamBody): UpstreamBody {
  return {
    read(idleMs) {
      const next = reads.shift();
      return next === undefined ? body.read(idleMs) : next;
    },
    cancel() {
      reads.length = 0;
      body.cancel();
    },
    lacksUsage: () => body.lacksUsage?.() === true,
  };
}
