import { join, type Marked, marked, plain, upper } from './marked-text.ts';
import { type Block, label, type Writing } from './sections.ts';
import { placeMarked } from './style.ts';

const BEFORE_NAME = ['Dr.', 'Mr.', 'Mrs.', 'Ms.', 'Prof.', 'Er.', 'Eng.', 'Dipl.-Ing.', 'Sr.', 'Dott.ssa'];
const AFTER_NAME = [
  ', PMP',
  ', MBA',
  ', RN',
  ', Ph.D.',
  ' (he/him)',
  ' (She/Her)',
  ', BSN, RN',
  ', CPA',
  ' M.Sc.',
  ', P.Eng',
  ' MBA',
];

/** The name at the top, as it is written there: with a title before it, letters apart, over two lines. */
export function nameLine({ random, facts }: Writing): Block {
  const { given, family } = facts.name;
  const before = random.chance(0.06) ? `${random.pick(BEFORE_NAME)} ` : '';
  const after = random.chance(0.07) ? random.pick(AFTER_NAME) : '';
  const kind = random.weighted({ plain: 92, apart: 3, twoLines: 5 });
  if (kind === 'apart')
    return [
      marked(
        'name',
        facts.shownName
          .toLocaleUpperCase()
          .split(' ')
          .map((word) => [...word].join(' '))
          .join('  '),
      ),
    ];
  if (kind === 'twoLines') {
    const lines = [marked('name', given), marked('name', family)];
    return random.chance(0.5) ? lines.map(upper) : lines;
  }
  return [[...plain(before), ...marked('name', facts.shownName), ...plain(after)]];
}

const LINKS = [
  'linkedin.com/in/',
  'www.linkedin.com/in/',
  'https://github.com/',
  'https://www.linkedin.com/in/',
  'www.',
  'twitter.com/',
];

function link({ random, facts }: Writing): string {
  const host = random.pick(LINKS);
  const local = facts.email.split('@')[0] ?? '';
  return host === 'www.'
    ? `www.${local.replace(/[^a-z]/gi, '')}.com`
    : `${host}${local.replace(/[._]/g, '-')}`;
}

/** Street, postal code and city; only the city and its region are a place. */
export function address(writing: Writing): Marked {
  const { random, facts } = writing;
  const place = placeMarked(random, facts.home);
  const code = String(random.int(1000, 99_999));
  const kind = random.weighted({ place: 55, street: 18, coded: 14, country: 8, codedAfter: 5 });
  if (kind === 'place') return place;
  if (kind === 'street') return [...plain(`${facts.values.street()}, `), ...place];
  if (kind === 'coded')
    return [...plain(`${facts.values.street()}, ${code} `), ...marked('place', facts.home[0])];
  if (kind === 'codedAfter') return [...plain(`${facts.values.street()}, `), ...place, ...plain(` ${code}`)];
  return [...place, ...plain(', '), ...marked('place', facts.values.country.name)];
}

/** Ways to reach the writer: with labels or without, in one line or in several. */
export function contact(writing: Writing): Block {
  const { random, facts } = writing;
  const labelled = random.chance(0.5);
  const between = random.pick([': ', ': ', ':', ' : ', ' - ', ' ']);
  const named = (field: string, value: Marked): Marked =>
    labelled ? [...plain(label(writing, field) + between), ...value] : value;
  const parts: Marked[] = [];
  if (random.chance(0.75))
    parts.push(labelled && random.chance(0.5) ? named('address', address(writing)) : address(writing));
  if (random.chance(0.9)) parts.push(named('phone', plain(facts.phone)));
  if (random.chance(0.93)) parts.push(named('email', plain(facts.email)));
  if (random.chance(0.25)) parts.push(plain(link(writing)));
  const order = random.chance(0.4) ? random.shuffled(parts) : parts;
  if (random.chance(0.45))
    return [join(order, random.pick([' | ', ' • ', ', ', '  ', ' / ', ' ● ', ' – ', '\t']))];
  return order;
}

export function header(writing: Writing): Block {
  const { random, facts, language, style } = writing;
  const lines: Marked[] = [];
  if (random.chance(0.2)) lines.push(plain(random.pick(language.list('titlesOfDocument'))));
  const title = marked('title', random.chance(0.8) ? facts.headline : facts.values.title());
  const shownTitle = style.titleForm === 'upper' ? upper(title) : title;
  const hasTitle = random.chance(0.5);
  const kind = random.weighted({ usual: 91, none: 2, twice: 3, titled: 4 });
  const once = nameLine(writing);
  const whole = marked('name', facts.shownName);
  const titled: Marked = [
    ...plain(`${random.pick(language.list('titlesOfDocument'))}${random.pick([' - ', ': ', ' – ', ' of '])}`),
    ...whole,
  ];
  const name = { usual: once, none: [], twice: [...once, [], whole], titled: [titled] }[kind];
  if (hasTitle && name.length === 1 && random.chance(0.12))
    lines.push([...(name[0] ?? []), ...plain(random.pick([' - ', ', ', ' | ', '  '])), ...shownTitle]);
  else lines.push(...name, ...(hasTitle ? [shownTitle] : []));
  const ways = contact(writing);
  if (random.chance(0.85)) return [...lines, ...ways];
  return [...ways, ...lines];
}

/** Personal facts with labels, as many countries have them; the name may be among them and nowhere else. */
export function personal(writing: Writing, withName: boolean): Block {
  const { random, facts, language } = writing;
  const between = random.pick([': ', ': ', ' : ', ':\t', '\t', ' - ', '          ', ':  ']);
  const row = (field: string, value: Marked): Marked => [...plain(label(writing, field) + between), ...value];
  const rows: Marked[] = [];
  if (withName) rows.push(row('name', marked('name', facts.shownName)));
  if (random.chance(0.7))
    rows.push(
      row(
        'born',
        plain(
          `${random.int(1, 28)}${random.pick(['/', '.', '-'])}${String(random.int(1, 12)).padStart(2, '0')}${random.pick(['/', '.', '-'])}${random.int(1962, 2004)}`,
        ),
      ),
    );
  if (withName || random.chance(0.4)) rows.push(row('address', address(writing)));
  if (withName) {
    if (random.chance(0.9)) rows.push(row('phone', plain(facts.phone)));
    rows.push(row('email', plain(facts.email)));
  }
  if (random.chance(0.6)) rows.push(row('nationality', plain(random.pick(language.value('nationality')))));
  if (random.chance(0.6)) rows.push(row('status', plain(random.pick(language.value('status')))));
  if (random.chance(0.35)) rows.push(row('gender', plain(random.pick(language.value('gender')))));
  if (random.chance(0.1)) rows.push(row('salary', plain(random.pick(language.value('salary')))));
  return rows;
}
