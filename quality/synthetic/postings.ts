import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createFacts } from './facts.ts';
import { type Fillings, fill, type Marked, marked, rendered } from './marked-text.ts';
import { createRandom, type Random } from './random.ts';
import { LANGUAGE_OF, LANGUAGES, type Language } from './words.ts';

interface Span {
  readonly start: number;
  readonly end: number;
}

/** A line of a posting, in the form of quality/tagged-sentences.ts. */
interface SyntheticLine {
  readonly text: string;
  readonly language: string;
  readonly abilities: readonly Span[];
  readonly knowledge: readonly Span[];
}

type Patterns = Readonly<Record<'heads' | 'headings' | 'requirements' | 'others', string>>;

const PATTERNS = JSON.parse(
  readFileSync(join(import.meta.dir, 'words', 'postings.json'), 'utf8'),
) as Readonly<Record<string, Patterns>>;

const VERBS =
  'develop; design; lead; manage; maintain; create; build; coordinate; support; improve; review; prepare; analyse; monitor; plan; streamline; test; document; negotiate; present; train; supervise; handle; deliver; write; ensure; define; drive; own; evaluate; implement; optimise; sell; repair; install; clean; cook; teach; advise; inspect; operate'.split(
    '; ',
  );
const OBJECTS =
  'our internal systems; customer requests; technical documentation; the monthly reports; new features; junior colleagues; marketing campaigns; supplier contracts; the daily operations; test plans; training sessions; patient records; production lines; complex projects; the product roadmap; sales targets; stock levels; safety inspections; data pipelines; stakeholder expectations; lesson plans; machines and equipment; user interfaces; financial statements; quality standards; the team schedule; food orders; delivery routes; legal documents; clean and tested code; business processes'.split(
    '; ',
  );
const WAYS =
  '; ; ; under pressure; in a team; independently; across departments; from idea to launch; on time; in a fast-paced environment; with care; in line with regulations; end to end'.split(
    ';',
  );

/** The line of a seed: a title, a heading, a requirement or something else that a posting says. */
export function syntheticLine(seed: number): SyntheticLine {
  const random = createRandom(Math.imul(seed + 1, 0x85ebca6b));
  const code = random.weighted(LANGUAGES);
  const language = LANGUAGE_OF[code] as Language;
  const kind = random.weighted({ heads: 12, headings: 8, requirements: 62, others: 18 });
  const pattern = random.pick((PATTERNS[code] as Patterns)[kind].split('; '));
  const lead = random.weighted({ '': 70, '• ': 12, '- ': 10, '* ': 8 });
  const line = fill(`${lead}${pattern}`, fillingsOf(random, language));
  const { text, spans } = rendered(line);
  const places = (label: string) =>
    spans.filter((span) => span.label === label).map(({ start, end }) => ({ start, end }));
  return { text, language: code, abilities: places('ability'), knowledge: places('knowledge') };
}

function fillingsOf(random: Random, language: Language): Fillings {
  const facts = createFacts(random, language);
  const { values } = facts;
  const ability = () => {
    const way = random.pick(WAYS).trim();
    return `${random.pick(VERBS)} ${random.pick(OBJECTS)}${way === '' ? '' : ` ${way}`}`;
  };
  const soft = () => random.pick(language.list('soft'));
  const upperFirst = (text: string): string => text.slice(0, 1).toLocaleUpperCase() + text.slice(1);
  const known = (text: string): Marked => marked('knowledge', text);
  return {
    knowledge: () => known(values.skill()),
    ability: () => marked('ability', ability()),
    Ability: () => marked('ability', upperFirst(ability())),
    soft: () => marked('ability', soft()),
    Soft: () => marked('ability', upperFirst(soft())),
    field: () => known(values.field()),
    degree: () => known(values.degree()),
    spoken: () => known(random.pick(language.list('spoken'))),
    title: () => values.title(),
    company: () => values.company(),
    city: () => values.place()[0],
    years: () => String(random.int(1, 10)),
    year: () => String(random.int(1950, 2022)),
    number: () => values.number(),
    money: () => values.money(),
    email: facts.email,
  };
}
