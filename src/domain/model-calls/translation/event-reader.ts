interface TextEvent {
  readonly name: string | null;
  readonly data: string;
}

interface EventReader {
  /** The events that are whole now, wherever the chunks were cut. */
  push(chunk: Uint8Array): readonly TextEvent[] | 'too-large';
  /** At the end of the stream: the event whose blank line did not come any more. */
  end(): readonly TextEvent[] | 'too-large';
}

/** Server-sent events as text, for answers that are translated. `maxEventBytes` bounds what is not whole yet. */
export function createEventReader(maxEventBytes: number): EventReader {
  const decoder = new TextDecoder();
  let rest = '';
  let name: string | null = null;
  let data: string[] = [];
  let dataSize = 0;

  function take(line: string, into: TextEvent[]): void {
    if (line === '') {
      if (data.length > 0) into.push({ name, data: data.join('\n') });
      name = null;
      data = [];
      dataSize = 0;
      return;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') name = value;
    if (field !== 'data') return;
    data.push(value);
    dataSize += value.length;
  }

  function read(text: string, isEnd: boolean): readonly TextEvent[] | 'too-large' {
    const events: TextEvent[] = [];
    rest += text;
    let at = 0;
    for (;;) {
      const end = lineEnd(rest, at);
      if (end < 0) break;
      // A \r at the very end may be the first half of \r\n.
      if (!isEnd && rest[end] === '\r' && end + 1 === rest.length) break;
      take(rest.slice(at, end), events);
      at = rest[end] === '\r' && rest[end + 1] === '\n' ? end + 2 : end + 1;
    }
    rest = rest.slice(at);
    return rest.length + dataSize > maxEventBytes ? 'too-large' : events;
  }

  return {
    push: (chunk) => read(decoder.decode(chunk, { stream: true }), false),
    end: () => read(`${decoder.decode()}\n\n`, true),
  };
}

function lineEnd(text: string, from: number): number {
  const lf = text.indexOf('\n', from);
  const cr = text.indexOf('\r', from);
  if (lf < 0 || cr < 0) return Math.max(lf, cr);
  return Math.min(lf, cr);
}
