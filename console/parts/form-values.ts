/** The values of a form, by the names of its fields. */
export interface FormValues {
  text(name: string): string;
  /** As typed, including leading and trailing blanks. */
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
 * The values that differ from those the form started with. The rest is not sent, so that changes made elsewhere
 * meanwhile are kept.
 */
export function changedFrom<Values extends object>(before: Values, after: Values): Partial<Values> {
  const names = Object.keys(after) as (keyof Values)[];
  return Object.fromEntries(
    names.filter((name) => after[name] !== before[name]).map((name) => [name, after[name]]),
  ) as Partial<Values>;
}
