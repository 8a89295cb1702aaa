/** What was typed, by the fields' names. */
export interface Typed {
  text(name: string): string;
  /** Null where nothing was typed. */
  number(name: string): number | null;
  all(name: string): readonly string[];
}
