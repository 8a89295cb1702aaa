/** The values of a form, by the names of its fields. */
export interface FormValues {
  text(name: string): string;
  /** Null for an empty field. */
  number(name: string): number | null;
  all(name: string): readonly string[];
}

export function formValues(data: FormData): FormValues {
  const text = (name: string) => String(data.get(name) ?? '').trim();
  return {
    text,
    number: (name) => (text(name) === '' ? null : Number(text(name))),
    all: (name) => data.getAll(name).map(String),
  };
}
