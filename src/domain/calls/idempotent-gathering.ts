/** An answer as it leaves, piece by piece. */
export interface AnswerGathering {
  push(piece: Uint8Array): void;
  /** Null once it is too large. */
  bytes(): Uint8Array<ArrayBuffer> | null;
}

export interface AnswerGatherings {
  begin(callId: string): AnswerGathering;
  /** Lets go of what was gathered. */
  end(callId: string): void;
}

/** Of all running calls of a process together: what comes on top of it is not kept. */
const MOST_GATHERED_BYTES = 256 * 1024 * 1024;

export function createAnswerGatherings(
  maxAnswerBytes: number,
  mostBytes = MOST_GATHERED_BYTES,
): AnswerGatherings {
  const sizes = new Map<string, number>();
  let total = 0;

  function resize(callId: string, size: number): void {
    total += size - (sizes.get(callId) ?? 0);
    sizes.set(callId, size);
  }

  return {
    begin(callId) {
      let pieces: Uint8Array[] | null = [];
      let size = 0;
      resize(callId, 0);
      return {
        push(piece) {
          // What comes after the end belongs to nothing that is kept.
          if (pieces === null || !sizes.has(callId)) return;
          if (size + piece.length > maxAnswerBytes || total + piece.length > mostBytes) {
            pieces = null;
            resize(callId, 0);
            return;
          }
          // A copy: a piece may lie in memory that its reader uses again.
          pieces.push(piece.slice());
          size += piece.length;
          resize(callId, size);
        },
        bytes: () => (pieces === null ? null : joined(pieces, size)),
      };
    },
    end(callId) {
      total -= sizes.get(callId) ?? 0;
      sizes.delete(callId);
    },
  };
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
