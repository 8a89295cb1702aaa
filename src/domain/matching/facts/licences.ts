/**
 * Driving licences by their classes, which are the same throughout Europe: "Führerschein Klasse CE" and "driving
 * licence C+E" are the same licence. They are read separately from other certificates, because a single letter is not a
 * word.
 */
const LICENCE =
  /(?:führerschein|fahrerlaubnis|driv(?:er['’]?s?|ing) licen[cs]e|permis de conduire|permis|carnet de conducir|patente|rijbewijs|prawo jazdy|permis de conducere)(?!\p{L})/giu;
const CLASS = '(?:A[12M]?|B(?:\\+?E|1|96)?|C1?(?:\\+?E)?|D1?(?:\\+?E)?|[LT])';
const BETWEEN = '(?:\\s*(?:[,/&;]|and|und|et|y|e|or|oder|ou)\\s*)';
const LABEL = '(?:[Kk]lassen?|[Cc]lass(?:es)?|[Cc]ategor(?:y|ies)|[Kk]l\\.|[Cc]at\\.|[Kk]at\\.)';
const CLASSES = new RegExp(
  `(?<![\\p{L}\\p{N}])${CLASS}(?:${BETWEEN}${LABEL}?\\s*${CLASS}(?![\\p{L}\\p{N}]))*(?![\\p{L}\\p{N}])`,
  'u',
);
/** How far after the word for a licence its classes are searched: the rest of its line, or the line below a heading. */
const FAR = 60;

/** The other classes that each class includes. */
const INCLUDED: Readonly<Record<string, readonly string[]>> = {
  BE: ['B'],
  C1: ['B'],
  C: ['C1', 'B'],
  C1E: ['C1', 'BE', 'B'],
  CE: ['C', 'C1', 'C1E', 'BE', 'B'],
  D1: ['B'],
  D: ['D1', 'B'],
  D1E: ['D1', 'BE', 'B'],
  DE: ['D', 'D1', 'D1E', 'BE', 'B'],
};

interface LicenceMention {
  /** As written; empty if the text names a licence without classes. */
  readonly classes: readonly string[];
  readonly start: number;
}

export function licencesIn(text: string): readonly LicenceMention[] {
  return [...text.matchAll(LICENCE)].map(({ index, 0: name }) => {
    const behind = text.slice(index + name.length, index + name.length + FAR).split(/\.\s|\n\s*\n/u)[0] ?? '';
    const named = CLASSES.exec(behind)?.[0] ?? '';
    const classes = [...named.matchAll(new RegExp(`(?<![\\p{L}\\p{N}])${CLASS}(?![\\p{L}\\p{N}])`, 'gu'))];
    return { classes: classes.map(([one]) => one.replace('+', '')), start: index };
  });
}

/** Whether the held classes include the required one. */
export function isHeld(required: string, held: readonly string[]): boolean {
  return held.some((one) => one === required || INCLUDED[one]?.includes(required) === true);
}
