const MAX_CHARACTERS = 2_000;

/** What a handler rejected with, as one bounded text that a jsonb column takes. A handler may reject with anything. */
export function errorText(error: unknown): string {
  return bounded(describe(error));
}

/** The text of a dead letter. Besides ours, pg-boss writes texts of its own, one level deeper. */
export function textOfOutput(output: unknown): string {
  const { message, value } = (output ?? {}) as { message?: unknown; value?: { message?: unknown } };
  if (typeof message === 'string') return bounded(message);
  if (typeof value?.message === 'string') return bounded(value.message);
  return 'no error text was kept';
}

function describe(error: unknown): string {
  try {
    if (error instanceof Error) {
      const message = String(error.message);
      return error.name === 'Error' ? message || 'an Error without a message' : `${error.name}: ${message}`;
    }
    if (typeof error === 'string') return error;
    return `the handler rejected with ${typeof error === 'object' ? JSON.stringify(error) : String(error)}`;
  } catch {
    return 'the handler rejected with something that cannot be written down';
  }
}

/** jsonb refuses the character 0 and halves of surrogate pairs, one of which the cut may leave. */
function bounded(text: string): string {
  return text.slice(0, MAX_CHARACTERS).replaceAll('\u0000', '').toWellFormed();
}
