import { join, type Marked, marked, plain, textOf, wrapped } from './marked-text.ts';
import type { Random } from './random.ts';
import { type Block, label, type Writing } from './sections.ts';

export function skills(writing: Writing, width: number | null = null): Block {
  const { random, facts, language, style } = writing;
  const form = (skill: string) =>
    style.titleForm === 'upper' && random.chance(0.5) ? skill.toLocaleUpperCase() : skill;
  const all = facts.skills.map((skill) => marked('skill', caseOf(random, form(skill))));
  const soft = facts.soft.map((skill) => marked('skill', caseOf(random, skill)));
  const kind = random.weighted({
    commas: 26,
    list: 22,
    labelled: 16,
    years: 8,
    table: 5,
    columns: 6,
    bars: 6,
    sentences: 5,
    levels: 6,
  });
  const some = random.chance(0.45) ? random.shuffled([...all, ...soft]) : all;
  const separator = random.pick([', ', ', ', ', ', ' | ', ' • ', '; ', ' / ', ' · ', ', ']);
  const years = () => random.pick(language.list('years')).replace('{n}', String(random.int(1, 12)));
  const level = () => random.pick(language.list('levels'));
  if (kind === 'commas') return wrapped(join(some, separator), width ?? style.width);
  if (kind === 'list') return some.map((skill) => [...plain(style.bullet), ...skill]);
  if (kind === 'labelled') return labelledSkills(writing, some, width);
  if (kind === 'years')
    return random.chance(0.6)
      ? wrapped(
          join(
            some.map((skill) => [...skill, ...plain(` ${years()}`)]),
            ', ',
          ),
          width ?? style.width,
        )
      : some.map((skill) => [...plain(style.bullet), ...skill, ...plain(` ${years()}`)]);
  if (kind === 'table') {
    const head = plain(`${label(writing, 'skills')}\t${label(writing, 'level')}`);
    return [
      head,
      ...some.map((skill) => [...skill, ...plain(`\t${random.chance(0.5) ? years() : level()}`)]),
    ];
  }
  if (kind === 'columns') return inColumns(random, some);
  if (kind === 'bars')
    return some.map((skill) => [
      ...skill,
      ...plain(random.pick([' ●●●●○', ' ★★★☆☆', ' 85%', ' ■■■□□', ' 4/5'])),
    ]);
  if (kind === 'levels')
    return some.map((skill) => [
      ...plain(style.bullet),
      ...skill,
      ...plain(random.pick([`: ${level()}`, ` - ${level()}`, ` (${level()})`])),
    ]);
  return Array.from({ length: random.int(2, 5) }, () => [
    ...plain(style.bullet),
    ...facts.sentence('tasks'),
  ]).flatMap((one) => wrapped(one, width ?? style.width));
}

const caseOf = (random: Random, skill: string): string =>
  random.chance(0.35) ? skill.slice(0, 1).toLocaleUpperCase() + skill.slice(1) : skill;

function labelledSkills(writing: Writing, skillPieces: readonly Marked[], width: number | null): Block {
  const { random, language, style } = writing;
  const labels = random.some(language.label('skills'), random.int(2, 5));
  const bullet = random.chance(0.4) ? style.bullet : '';
  const between = random.pick([': ', ': ', ' : ', ' - ', '\t', ':  ', '    ']);
  const share = Math.ceil(skillPieces.length / labels.length);
  return labels.flatMap((name, at) => {
    const part = skillPieces.slice(at * share, (at + 1) * share);
    if (part.length === 0) return [];
    return wrapped(
      [...plain(`${bullet}${name}${between}`), ...join(part, ', '), ...plain(random.chance(0.2) ? '.' : '')],
      width ?? style.width,
    );
  });
}

function inColumns(random: Random, pieces: readonly Marked[]): Block {
  const perRow = random.int(2, 3);
  const rows: Marked[] = [];
  for (let at = 0; at < pieces.length; at += perRow) {
    const row = pieces.slice(at, at + perRow);
    rows.push(
      row.flatMap((piece, index) =>
        index === row.length - 1
          ? piece
          : [...piece, ...plain(' '.repeat(Math.max(3, 30 - textOf(piece).length)))],
      ),
    );
  }
  return rows;
}

export function languages(writing: Writing): Block {
  const { random, facts, language, style } = writing;
  const level = () => random.pick(language.list('levels'));
  const all = facts.spoken.map((spoken) => marked('skill', spoken));
  if (random.chance(0.35)) return [join(all, ', ')];
  const between = random.pick([': ', ' - ', ' (', '\t', ', ', ' – ']);
  const close = between === ' (' ? ')' : '';
  const entries = all.map((spoken) => [...spoken, ...plain(`${between}${level()}${close}`)]);
  if (random.chance(0.3) && between !== '\t') return [join(entries, random.pick([', ', '; ', ' | ']))];
  return entries.map((entry) => [...plain(random.chance(0.4) ? style.bullet : ''), ...entry]);
}
