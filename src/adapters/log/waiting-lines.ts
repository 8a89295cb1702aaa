export interface WaitingLines {
  /** False where it does not fit. */
  add(line: string): boolean;
  /** The first lines, as one text of about `characters`; null when none wait. */
  takeChunk(characters: number): { readonly text: string; readonly lines: number } | null;
}

/** Lines in the order they came, bounded in number and in length. */
export function createWaitingLines(maxLines: number, maxCharacters: number): WaitingLines {
  let waiting: string[] = [];
  let waitingCharacters = 0;
  return {
    add(line) {
      if (waiting.length >= maxLines || waitingCharacters + line.length > maxCharacters) return false;
      waiting.push(line);
      waitingCharacters += line.length;
      return true;
    },
    takeChunk(characters) {
      let lines = 0;
      let taken = 0;
      while (lines < waiting.length && taken < characters) {
        taken += waiting[lines]?.length ?? 0;
        lines += 1;
      }
      if (lines === 0) return null;
      const text = waiting.slice(0, lines).join('');
      waiting = waiting.slice(lines);
      waitingCharacters -= taken;
      return { text, lines };
    },
  };
}
