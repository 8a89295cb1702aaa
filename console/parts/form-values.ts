/** The values of a form, by the names of its fields. */
export interface FormValues {
  text(name: string): string;
  /** As it was typed, blanks at its ends included. */
  password(name: string): string;
  /** Null for an empty field. */
  number(name: string): number | null;
  all(name: string): readonly string[];
}

export function formValues(data: FormData): FormValues {
  const password = (name: string) => String(data.get(name) ?? '');
  const text = (name: string) => password(name).trim();
  return {
    text,
    password,
    number: (name) => (text(name) === '' ? null : Number(text(name))),
    all: (name) => data.getAll(name).map(String),
  };
}

/**
 * What differs from what a form began with. The rest is not sent, so that it stays as it is even where it was changed
 * elsewhere meanwhile.
 */
export function changedFrom<Values extends object>(before: Values, after: Values): Partial<Values> {
  const names = Object.keys(after) as (keyof Values)[];
  return Object.fromEntries(
    names.filter((name) => after[name] !== before[name]).map((name) => [name, after[name]]),
  ) as Partial<Values>;
}
