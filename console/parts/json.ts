/** Reads JSON whose shape the schema does not guarantee: a value of an unexpected type is read as missing. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const objectIn = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};

export const textIn = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';

export const numberIn = (value: unknown): number | null => (typeof value === 'number' ? value : null);

export const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(textIn).filter((one) => one !== '') : [];
