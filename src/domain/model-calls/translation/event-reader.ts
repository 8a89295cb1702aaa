interface TextEvent {
  readonly name: string | null;
  readonly data: string;
}

interface EventReader {
  /** Returns the events that are complete now, wherever the chunks were cut. */
  push(chunk: Uint8Array): readonly TextEvent[] | 'too-large';
  /** At the end of the stream: the event whose final blank line is missing. */
  end(): readonly TextEvent[] | 'too-large';
}

/** Reads server-sent events as text, for answers that are translated. `maxEventBytes` limits incomplete events. */
export function createEventReader(maxEventBytes: number): EventReader {
  const decoder = new TextDecoder();
  /** The beginning of a line whose end has not arrived. It is joined once, at its end. */
  let rest = '';
  /** The last line ended with the chunk, by a \r: a \n that follows belongs to it. */
  let endedWithCr = false;
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
    // Counts the line end, so that empty lines are limited too.
    dataSize += value.length + 1;
  }

  function read(text: string): readonly TextEvent[] | 'too-large' {
    const events: TextEvent[] = [];
    let at = endedWithCr && text.startsWith('\n') ? 1 : 0;
    if (text !== '') endedWithCr = false;
    // Each search continues where the last one ended, so that no character is searched twice.
    let nextLf = -1;
    let nextCr = -1;
    while (at < text.length) {
      if (nextLf < at) nextLf = indexOrEnd(text, '\n', at);
      if (nextCr < at) nextCr = indexOrEnd(text, '\r', at);
      const end = Math.min(nextLf, nextCr);
      if (end === text.length) break;
      take(rest + text.slice(at, end), events);
      rest = '';
      at = end + 1;
      if (end === nextCr) {
        if (at === text.length) endedWithCr = true;
        else if (text[at] === '\n') at += 1;
      }
    }
    rest += text.slice(at);
    return rest.length + dataSize > maxEventBytes ? 'too-large' : events;
  }

  return {
    push: (chunk) => read(decoder.decode(chunk, { stream: true })),
    end: () => read(`${decoder.decode()}\n\n`),
  };
}

function indexOrEnd(text: string, character: string, from: number): number {
  const at = text.indexOf(character, from);
  return at < 0 ? text.length : at;
}
