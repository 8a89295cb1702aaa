import type { Evidence } from './document-facts.ts';

/** A value with the place it was read from. */
export interface Traced {
  readonly value: string;
  readonly start: number;
  readonly end: number;
  readonly confidence: number;
}

export interface EvidenceNotes {
  /** Notes where a value stands and gives the value; null stays null and leaves no note. */
  note(path: string, traced: Traced | null): string | null;
  readonly all: Evidence[];
}

export function createEvidenceNotes(): EvidenceNotes {
  const all: Evidence[] = [];
  return {
    all,
    note: (path, traced) => {
      if (traced === null) return null;
      const confidence = Math.round(Math.min(1, Math.max(0, traced.confidence)) * 100) / 100;
      all.push({ path, start: traced.start, end: traced.end, confidence });
      return traced.value;
    },
  };
}

/** What stands at a place, with its white space made single blanks. */
export function traced(text: string, start: number, end: number, confidence: number): Traced {
  return { value: text.slice(start, end).replace(/\s+/g, ' ').trim(), start, end, confidence };
}
