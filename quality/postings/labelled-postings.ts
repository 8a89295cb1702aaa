import { readFileSync } from 'node:fs';

/** What a posting is expected to say; a field without a line is expected to be empty. */
export const POSTING_FIELDS = [
  'title',
  'company',
  'must',
  'nice',
  'pay',
  'type',
  'mode',
  'place',
  'months',
  'level',
] as const;

export type PostingField = (typeof POSTING_FIELDS)[number];

export interface LabelledPosting {
  readonly name: string;
  readonly text: string;
  readonly wanted: Readonly<Record<PostingField, readonly string[]>>;
}

/**
 * Postings of one file: `### name`, the text, `---`, then a line for each value (`must: A forklift licence`). Pay is
 * `CURRENCY LOW to HIGH UNIT`, with `open` for a side that the text does not name.
 */
export function readLabelledPostings(file: string): LabelledPosting[] {
  return readFileSync(file, 'utf8')
    .split(/^### /m)
    .slice(1)
    .map((block) => {
      const end = block.indexOf('\n');
      const name = block.slice(0, end).trim();
      const [text, labels, ...rest] = block.slice(end + 1).split(/^---\n/m);
      if (text === undefined || labels === undefined || rest.length > 0)
        throw new Error(`${file}: ${name} needs one line --- between its text and its values`);
      return { name, text: text.trimEnd(), wanted: wantedOf(labels, `${file}: ${name}`) };
    });
}

function wantedOf(labels: string, where: string): LabelledPosting['wanted'] {
  const lines = labels.split('\n').filter((line) => line.trim() !== '');
  const values = lines.map((line) => {
    const [, name = '', value = ''] = /^(\w+): (.+)$/.exec(line) ?? [];
    const field = POSTING_FIELDS.find((one) => one === name);
    if (field === undefined) throw new Error(`${where}: "${line}" is no field with a value`);
    return { field, value: value.trim() };
  });
  const of = (wanted: PostingField) =>
    values.flatMap(({ field, value }) => (field === wanted ? [value] : []));
  return {
    title: of('title'),
    company: of('company'),
    must: of('must'),
    nice: of('nice'),
    pay: of('pay'),
    type: of('type'),
    mode: of('mode'),
    place: of('place'),
    months: of('months'),
    level: of('level'),
  };
}
