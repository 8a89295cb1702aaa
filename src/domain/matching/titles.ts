import { stem } from './words-of.ts';

/** One word for those that name the same work. What is not here stands for itself. */
const SAME: Readonly<Record<string, string>> = Object.fromEntries(
  `engineer: developer programmer coder engineer engineering development swe sde entwickler
  frontend: frontend front-end fe
  backend: backend back-end
  qa: qa tester testing test quality-assurance sdet
  devops: devops sre platform infrastructure reliability
  data: data analytics
  scientist: scientist researcher science
  ml: ml ai machine-learning deep-learning nlp
  administrator: administrator admin sysadmin
  designer: designer design
  ux: ux ui ux/ui ui/ux user-experience
  manager: manager management mgr leiter
  lead: leader supervisor foreman teamleader teamlead shift-leader
  accountant: accountant accounting bookkeeper buchhalter accounts-payable accounts-receivable
  recruiter: recruiter recruiting talent-acquisition sourcer
  hr: hr human-resources people
  sales: sales account-executive seller business-development
  marketing: marketing marketer
  nurse: nurse nursing rn lpn
  icu: icu intensive-care critical-care
  carer: carer caregiver care-assistant healthcare-assistant
  teacher: teacher teaching educator tutor instructor lecturer
  driver: driver trucker courier
  warehouse: warehouse picker storekeeper logistics distribution
  cook: cook chef kitchen
  waiter: waiter waitress server
  support: support helpdesk service-desk
  consultant: consultant consulting advisor adviser
  analyst: analyst analysis
  assistant: assistant secretary clerk receptionist office
  mechanic: mechanic mechatronics technician fitter
  security: security cybersecurity infosec`
    .split('\n')
    .flatMap((line) => {
      const [name = '', members = ''] = line.trim().split(': ');
      return members.split(' ').map((word) => [word, name]);
    }),
);

/** Words of rank, and how far up they stand; a title without one stands at 3. */
const RANKS: Readonly<Record<string, number>> = {
  intern: 0,
  internship: 0,
  trainee: 0,
  apprentice: 0,
  working: 0,
  junior: 1,
  jr: 1,
  graduate: 1,
  entry: 1,
  associate: 2,
  senior: 4,
  sr: 4,
  principal: 5,
  lead: 5,
  head: 6,
  director: 7,
  vp: 8,
  chief: 9,
  cto: 9,
  cfo: 9,
  ceo: 9,
};

const PHRASES =
  /front[ -]end|back[ -]end|machine learning|deep learning|human resources|user experience|quality assurance|business development|account executive|talent acquisition|service desk|care assistant|healthcare assistant|intensive care|critical care|shift leader|accounts payable|accounts receivable/giu;
const IGNORED = new Set([
  'the',
  'and',
  'of',
  'for',
  'in',
  'at',
  'with',
  'to',
  'ii',
  'iii',
  'iv',
  'remote',
  'hybrid',
  'staff',
  'shift',
  'night',
]);

export interface TitleShape {
  /** The words of the work, without those of rank; each once. */
  readonly words: readonly string[];
  readonly rank: number;
}

/** "(m/f/d)" and "(all genders)" are no part of the work; "(Python)" is. */
export function shapeOfTitle(title: string): TitleShape {
  const text = title
    .slice(0, 200)
    .toLowerCase()
    .replace(/\((?:[mwfdxhi](?:[/|*-][mwfdxhi])+|[^)]*\bgenders?)\)/g, ' ')
    // Who does both is at home in either.
    .replace(/\bfull[ -]?stack\b/g, 'frontend backend')
    .replace(PHRASES, (phrase) => phrase.replace(' ', '-'));
  let rank = 3;
  const words = new Set<string>();
  for (const [word] of text.matchAll(/[\p{L}\p{N}+#./-]+/gu)) {
    const plain = word.replace(/^[./-]+|[./-]+$/g, '');
    const ranked = RANKS[plain];
    if (ranked !== undefined) rank = ranked === 2 ? rank : ranked;
    else if (plain.length > 1 && !IGNORED.has(plain)) words.add(SAME[plain] ?? stem(plain));
  }
  return { words: [...words], rank };
}

/** Words of the kind of work weigh less than those of its field: two managers may do quite different things. */
const GENERAL = new Set([
  'engineer',
  'manager',
  'administrator',
  'consultant',
  'analyst',
  'assistant',
  'designer',
  'specialist',
  'officer',
  'scientist',
  'software',
  'lead',
  'coordinator',
  'team',
  'expert',
  'operator',
  'worker',
]);
const GENERAL_WEIGHT = 0.5;

function weightOf(word: string): number {
  return GENERAL.has(word) ? GENERAL_WEIGHT : 1;
}

/** 0 to 1: how much of both titles is the same, by weight. */
export function titleCloseness(one: TitleShape, other: TitleShape): number {
  let [both, all] = [0, 0];
  for (const word of one.words) {
    const weight = weightOf(word);
    all += weight;
    if (other.words.includes(word)) both += weight;
  }
  for (const word of other.words) if (!one.words.includes(word)) all += weightOf(word);
  if (all === 0) return 0;
  const share = both / all;
  // Half of the words in common is far more than half of the work in common.
  return Math.min(1, Math.sqrt(share));
}
