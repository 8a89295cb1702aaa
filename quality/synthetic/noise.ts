import { type Marked, mapText, type Piece, plain, textOf, upper } from './marked-text.ts';
import type { Random } from './random.ts';
import type { Block } from './sections.ts';

/** What readers of PDF and DOCX files, scanners and people do to a text. Spans move along with their text. */
export function withNoise(random: Random, block: Block, name: string): Marked {
  let lines: Marked[] = [...block];
  if (random.chance(0.04)) lines = lines.map(upper);
  if (random.chance(0.18)) lines = withPages(random, lines, name);
  if (random.chance(0.12))
    lines = lines.flatMap((one) => (one.length > 0 && random.chance(0.5) ? [one, []] : [one]));
  if (random.chance(0.15)) lines = lines.filter((one) => one.length > 0);
  if (random.chance(0.08)) lines = withJoinedLines(random, lines);
  const form = random.weighted({ lines: 62, collapsed: 8, doubled: 4, flat: 26 });
  const between = { lines: '\n', collapsed: '  ', doubled: '\n\n', flat: ' ' }[form];
  let text: Marked = lines.flatMap((one, at) => (at === 0 ? one : [...plain(between), ...one]));
  if (form === 'collapsed') text = mapText(text, (part) => part.replace(/[\n\t]/g, '  '));
  if (form === 'flat') text = flattened(random, text);
  if (random.chance(0.06))
    text = mapText(text, (part) => part.replace(/ /g, () => (random.chance(0.05) ? '  ' : ' ')));
  if (random.chance(0.05))
    text = mapText(text, (part) =>
      part.replace(/(?<=[a-z,]) (?=[A-Za-z])/g, () => (random.chance(0.04) ? '' : ' ')),
    );
  if (random.chance(0.06)) text = mapText(text, (part) => misread(random, part));
  if (random.chance(0.05)) text = mapText(text, (part) => part.replace(/fi/g, 'ﬁ').replace(/fl/g, 'ﬂ'));
  if (random.chance(0.03)) text = mapText(text, (part) => part.replace(/ff?[il]|ff/g, ''));
  if (random.chance(0.06)) text = mapText(text, (part) => typed(random, part));
  if (random.chance(0.04)) text = mapText(text, (part) => part.normalize('NFD').replace(/\p{M}/gu, ''));
  if (random.chance(0.05))
    text = mapText(text, (part) => part.replace(/ /g, () => (random.chance(0.1) ? '\u00a0' : ' ')));
  if (random.chance(0.05)) text = mapText(text, (part) => part.replace(/([\w.]+)@(\w)/g, '$1 @$2'));
  if (random.chance(0.03)) text = mapText(text, (part) => part.replace(/([\w.]+@[\w-]+)\.(\w+)/g, '$1.\n$2'));
  if (random.chance(0.04)) text = [...plain('\ufeff'), ...text];
  return text;
}

/** A text without lines, and often without its marks: what is left after it went through a form or a data set. */
function flattened(random: Random, text: Marked): Marked {
  const oneLine = mapText(text, (part) => part.replace(/[\n\t]+/g, ' '));
  const kind = random.weighted({ marks: 30, few: 40, none: 30 });
  if (kind === 'marks') return oneLine;
  const dropped = kind === 'few' ? /[,;:()|•●▪◦■➢✓❖·"“”–—*>\uf0b7\uf0a7-]/g : /[^\p{L}\p{N}\s@+#&]/gu;
  return mapText(oneLine, (part) => part.replace(/ - | – | — /g, ' ').replace(dropped, ''));
}

const OCR: readonly (readonly [string, string])[] = [
  ['l', '1'],
  ['I', 'l'],
  ['O', '0'],
  ['rn', 'm'],
  ['m', 'rn'],
  ['e', 'c'],
  ['S', '5'],
  ['B', '8'],
  ['i', 'l'],
  ['ü', 'u'],
  ['ä', 'a'],
  ['é', 'e'],
];

function misread(random: Random, text: string): string {
  let read = text;
  for (const [from, to] of OCR) read = read.replaceAll(from, (found) => (random.chance(0.012) ? to : found));
  return read;
}

/** Slips of the fingers: two letters swapped, one missing or twice. */
function typed(random: Random, text: string): string {
  return text.replace(/(\p{Ll})(\p{Ll})/gu, (both, one: string, other: string) => {
    if (!random.chance(0.006)) return both;
    return random.pick([`${other}${one}`, one, `${one}${one}${other}`]);
  });
}

function withPages(random: Random, lines: readonly Marked[], name: string): Marked[] {
  const every = random.int(22, 50);
  const form = random.pick([
    'Page {n} of {all}',
    '{n}',
    'Page {n}',
    '{n} / {all}',
    '- {n} -',
    '{name} - {n}',
    'Seite {n}',
    '{n}|Page',
    'CV {name}, page {n}',
  ]);
  const all = Math.ceil(lines.length / every);
  return lines.flatMap((one, at) => {
    if (at === 0 || at % every !== 0) return [one];
    const footer: Piece[] = [];
    const filled = form.replace('{n}', String(at / every)).replace('{all}', String(all));
    const [before = '', after] = filled.split('{name}');
    footer.push(...plain(before));
    if (after !== undefined) footer.push({ text: name, label: 'name' }, ...plain(after));
    return [footer, one];
  });
}

/** A reader that takes two lines for one. */
function withJoinedLines(random: Random, lines: readonly Marked[]): Marked[] {
  const joined: Marked[] = [];
  for (const one of lines) {
    const last = joined.at(-1);
    if (
      last !== undefined &&
      last.length > 0 &&
      one.length > 0 &&
      textOf(last).length < 60 &&
      random.chance(0.15)
    )
      joined[joined.length - 1] = [...last, ...plain(' '), ...one];
    else joined.push(one);
  }
  return joined;
}
