import type { Clock } from '../../ports/clock.ts';
import type { LogEntry } from '../../ports/log.ts';

export interface LineBuffer {
  /** `size` in characters, for the bound. */
  add(entry: LogEntry, size: number): void;
  isEmpty(): boolean;
  /** All lines, the oldest first; before them one that says how many were lost, if any were. */
  takeAll(): readonly LogEntry[];
}

/** Some seconds of a busy log. The entries themselves are the same for all watchers. */
const MOST_LINES = 500;
const MOST_CHARACTERS = 256 * 1024;

/**
 * Past its bound the oldest lines go: what is lost lies just before what is kept, so the line that tells of it stands
 * at the right place.
 */
export function createLineBuffer(clock: Clock): LineBuffer {
  let lines: { readonly entry: LogEntry; readonly size: number }[] = [];
  let characters = 0;
  let lostLines = 0;

  return {
    add(entry, size) {
      lines.push({ entry, size });
      characters += size;
      while (lines.length > MOST_LINES || (characters > MOST_CHARACTERS && lines.length > 1)) {
        characters -= lines.shift()?.size ?? 0;
        lostLines += 1;
      }
    },
    isEmpty: () => lines.length === 0,
    takeAll() {
      const entries = lines.map(({ entry }) => entry);
      if (lostLines > 0) entries.unshift(lossNotice(lostLines, clock.now()));
      lines = [];
      characters = 0;
      lostLines = 0;
      return entries;
    },
  };
}

function lossNotice(lostLines: number, nowMs: number): LogEntry {
  const message = `${lostLines} lines were lost here: they came faster than they were read`;
  return { timestamp: new Date(nowMs).toISOString(), level: 'warn', message, context: { lostLines } };
}
