const LONGEST = 300;
const NOT_IN_A_NAME = /[\p{C}\u2028\u2029]/u;

/** As the meeting server knows it: it makes no difference between large and small letters. Null for what is no name. */
export function roomNameOf(text: string): string | null {
  const name = text.trim().toLowerCase();
  return name === '' || name.length > LONGEST || NOT_IN_A_NAME.test(name) ? null : name;
}
