/** A reason not to start that the operator can mend: shown as its message alone, without a stack. */
export class StartProblem extends Error {
  override readonly name = 'StartProblem';
}

/** One line of text for whatever was thrown. */
export function describe(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s*\n\s*/g, ' ');
}
