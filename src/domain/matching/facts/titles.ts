import { englishOf, isCommonWord, isFunctionWord, termOf, titleTerm } from './words.ts';

/** Words for the same work, after their common name. A word that is not listed is used as is. */
const GROUPS = `engineer: developer programmer coder engineer engineering development swe sde sdev entwickler entwicklung
  frontend: frontend front-end fe
  backend: backend back-end
  mobile: mobile android ios flutter
  qa: qa tester testing test quality-assurance sdet
  devops: devops sre platform infrastructure reliability
  data: data analytics
  scientist: scientist researcher research science
  ml: ml ai machine-learning deep-learning nlp
  administrator: administrator admin sysadmin administration
  designer: designer design
  ux: ux ui ux/ui ui/ux user-experience
  manager: manager management mgr leiter leiterin
  lead: leader supervisor foreman teamleader teamlead shift-leader leading
  accountant: accountant accounting bookkeeper buchhalter buchhalterin accounts-payable accounts-receivable buchhaltung
  recruiter: recruiter recruiting recruitment talent-acquisition sourcer
  hr: hr human-resources people personnel
  sales: sales account-executive seller business-development vertrieb außendienst außendienstmitarbeiter vertriebsmitarbeiter vertriebler
  marketing: marketing marketer
  writer: writer copywriter content editor journalist reporter
  nurse: nurse nursing rn lpn krankenpfleger krankenschwester pfleger pflegefachfrau pflegefachmann pflegefachkraft pflegekraft pflegefachperson
  icu: icu intensive-care critical-care
  carer: carer caregiver care-assistant healthcare-assistant
  physician: physician doctor medic arzt ärztin
  therapist: physiotherapist physiotherapeut physiotherapy physical-therapist fysioterapeut
  pharmacist: pharmacist apotheker pharmacy
  teacher: teacher teaching educator tutor instructor lehrer lehrerin lehrkraft
  lecturer: lecturer professor academic
  headteacher: headteacher headmaster school-principal principal
  counselor: counselor counsellor advisor adviser counseling advising
  driver: driver trucker courier fahrer chauffeur
  truck: truck lorry hgv lgv haulage ce c+e
  warehouse: warehouse picker storekeeper logistics distribution lagerist lagermitarbeiter lagerhelfer kommissionierer lager
  cook: cook chef kitchen koch köchin küche
  waiter: waiter waitress server
  support: support helpdesk service-desk help-desk
  technical: technical tech it information-technology
  security: security cybersecurity infosec soc cyber-security penetration-tester pentester
  consultant: consultant consulting
  analyst: analyst analysis
  assistant: assistant secretary clerk receptionist office secretarial
  lawyer: lawyer attorney solicitor barrister legal-counsel counsel attorney-at-law jurist rechtsanwalt rechtsanwältin anwalt anwältin
  paralegal: paralegal legal-assistant legal-secretary
  buyer: buyer purchaser purchasing procurement sourcing einkäufer
  mechanic: mechanic mechatronics technician fitter mechaniker industriemechaniker mechatroniker instandhaltung maintenance
  electrician: electrician elektriker elektroniker electrical elektro
  builder: builder construction site building
  joiner: joiner carpenter
  architect: architect architecture architekt
  banker: banker banking bank
  agent: agent representative rep
  product-manager: product-owner product-manager product-lead
  project: project program programme
  retail: retail shop store cashier merchandising verkäufer
  hairdresser: hairdresser barber hairstylist friseur frisör coiffeur
  plumber: plumber plumbing heating
  welder: welder welding
  cleaner: cleaner cleaning housekeeping housekeeper janitor
  barkeeper: bartender barista barkeeper
  scrum: scrum agile
  dentist: dentist dental
  psychologist: psychologist psychotherapist psychology
  veterinarian: veterinarian vet veterinary
  photographer: photographer photography
  translator: translator interpreter translation
  logistics-planner: dispatcher planner scheduler
  finance: finance financial treasury
  insurance: insurance underwriter actuary
  realtor: realtor estate
  gardener: gardener gardening landscaper
  intern: internship intern`;

/** A map, because "constructor" is a title in some languages and a property of every object. */
const SAME: ReadonlyMap<string, string> = new Map(
  GROUPS.split('\n').flatMap((line) => {
    const [name = '', members = ''] = line.trim().split(': ');
    return members.split(' ').map((word) => [word, name] as const);
  }),
);

/** Words that express a rank, and their level; a title without one has level 3. */
const RANKS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    intern: 0,
    internship: 0,
    trainee: 0,
    apprentice: 0,
    student: 0,
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
  }),
);

/** Names of several words, which are hyphenated before words are looked up. */
const NAMES = `front end|back end|machine learning|deep learning|human resources|user experience|quality assurance|
  business development|account executive|talent acquisition|service desk|help desk|care assistant|healthcare assistant|
  intensive care|critical care|shift leader|accounts payable|accounts receivable|physical therapist|legal counsel|
  legal assistant|legal secretary|attorney at law|information technology|school principal|product owner|product manager|
  product lead|cyber security|penetration tester`;
const PHRASES = new RegExp(
  NAMES.split('|')
    .map((name) => name.trim().replaceAll(' ', '[ -]'))
    .join('|'),
  'giu',
);

const IGNORED: ReadonlySet<string> = new Set(
  `the and of for in at with to by on as ii iii iv level class remote hybrid staff shift night nights full part time
  permanent freelance freelancer self-employed contract temporary wanted opportunity vacancy registered qualified examiniert
  examinierte examinierter staatlich geprüfter geprüfte anerkannte anerkannter
  superior superioară supérieur supérieure`.split(/\s+/),
);

/** Words for the type of work weigh less than those for its field: two managers may do quite different things. */
const GENERAL: ReadonlySet<string> = new Set(
  `engineer manager administrator consultant analyst assistant designer specialist officer scientist software lead
  coordinator team expert operator worker executive associate technical project member owner agent senior
  regional national international global area territory`.split(/\s+/),
);

export interface TitleShape {
  /** The words for the work, without those of rank; each once. */
  readonly words: readonly string[];
  readonly rank: number;
}

/** Endings for the other sex: "Verkäufer/in", "Director/a", "Vendeur(se)", "Mitarbeiter*innen". */
const OTHER_ENDING =
  /(?<=\p{L}{4})[/*:_·•(](?:innen|in|as|a|os|o|ă|e|euse|ère|ière|trice|rice|ienne|enne|nne|se|ne|ra|ora|dora|tora)\)?(?!\p{L})/gu;

/** German combines field and occupation in one word: "Finanzbuchhalterin", "Instandhaltungsmechaniker", "Elektromeister". */
const OCCUPATIONS =
  `fahrer mechaniker mechatroniker elektroniker elektriker buchhalter pfleger lehrer entwickler verkäufer
  friseur architekt anwalt techniker`.split(/\s+/);
const OF_WOMEN = /(?<=er|eur|ekt|or|ist)in$/u;
const MASTER_RANK = 4;

function occupationIn(written: string): Pick<TitleShape, 'words'> & { readonly rank: number | null } {
  const word = written.replace(OF_WOMEN, '');
  const known = SAME.get(word);
  if (known !== undefined) return { words: [known], rank: null };
  const trade = word.endsWith('meister') ? SAME.get(word.slice(0, -'meister'.length)) : undefined;
  if (trade !== undefined) return { words: [trade], rank: MASTER_RANK };
  const ending = OCCUPATIONS.find((one) => word.endsWith(one));
  if (ending === undefined) return { words: [], rank: null };
  const field = word.slice(0, -ending.length).replace(/s?-?$/u, '');
  const term = SAME.get(field) ?? (field.length > 3 ? termIn(field) : null);
  return { words: [SAME.get(ending) ?? ending, ...(term === null ? [] : [term])], rank: null };
}

/** "(m/f/d)" and "(all genders)" are not part of the work; "(Python)" is. */
export function shapeOfTitle(title: string): TitleShape {
  const text = title
    .slice(0, 200)
    .toLowerCase()
    .replace(/\((?:[mwfdxhi](?:[/|*-][mwfdxhi])+|[^)]*\bgenders?)\)/g, ' ')
    .replace(OTHER_ENDING, '')
    // Full stack counts as both.
    .replace(/\bfull[ -]?stack\b/g, 'frontend backend')
    .replace(/\b(?:(?:berufs)?kraft|lkw-?)fahrer(?:in)?\b/g, 'truck driver')
    .replace(/\bgesundheits- und (?=krankenpfleger)/g, '')
    .replace(PHRASES, (phrase) => phrase.replaceAll(' ', '-'));
  let rank = 3;
  const words = new Set<string>();
  const all = [...text.matchAll(/[\p{L}\p{N}+#./-]+/gu)]
    .flatMap(([word]) => (SAME.has(word) ? [word] : word.split('/')))
    .map((word) => word.replace(/^[.-]+|[.-]+$/g, ''));
  for (const [at, plain] of all.entries()) {
    const ranked = RANKS.get(plain) ?? RANKS.get(englishOf(plain) ?? '');
    // A rank in "Principal Engineer", but an occupation in "Assistant Principal".
    const isRank = ranked !== undefined && !(plain === 'principal' && isOfSchool(all, at));
    const word = SAME.get(plain) ?? termIn(plain);
    if (isRank) {
      rank = ranked === 2 ? rank : ranked;
      continue;
    }
    const occupation = SAME.has(plain) ? null : occupationIn(plain);
    rank = occupation?.rank ?? rank;
    if (occupation !== null && occupation.words.length > 0)
      for (const one of occupation.words) words.add(one);
    else if (word !== null) words.add(word);
  }
  return { words: [...words], rank };
}

/** Romance languages have the rank behind the occupation: "Ingeniero principal". */
function isOfSchool(words: readonly string[], at: number): boolean {
  if (at !== words.length - 1) return false;
  return (
    at === 0 ||
    /^(?:assistant|associate|deputy|vice|school|elementary|primary|secondary|high)$/.test(words[at - 1] ?? '')
  );
}

/** Null for a word that says nothing about the work. */
function termIn(word: string): string | null {
  const english = englishOf(word);
  if (english !== null) return isCommonWord(english) ? null : (SAME.get(english) ?? titleTerm(english));
  return isTelling(word) ? titleTerm(word) : null;
}

function isTelling(word: string): boolean {
  return word.length > 1 && !IGNORED.has(word) && !isFunctionWord(word);
}

const GENERAL_WEIGHT = 0.3;

function weightOf(word: string): number {
  return GENERAL.has(word) ? GENERAL_WEIGHT : 1;
}

/** The part that a word of the job's title counts if the CV shows it outside its titles. */
export const TITLE_IN_TEXT = 0.5;
const NONE: ReadonlySet<string> = new Set();

/**
 * 0 to 1: how much a title has in common with the title of a job, by weight. Words of the job's title that are in
 * `shown` count partly if the titles have a word in common: a software engineer who works with Python fits "Python
 * Developer".
 */
export function titleCloseness(one: TitleShape, job: TitleShape, shown: ReadonlySet<string> = NONE): number {
  let [both, inText, all] = [0, 0, 0];
  for (const word of job.words) {
    const weight = weightOf(word);
    all += weight;
    if (one.words.includes(word)) both += weight;
    else if (shown.has(word)) inText += weight;
  }
  for (const word of one.words) if (!job.words.includes(word)) all += weightOf(word);
  if (both === 0) return 0;
  const share = (both + TITLE_IN_TEXT * inText) / all;
  // Titles that share half of their words share far more than half of the work.
  return Math.min(1, share ** 0.6);
}

/** The words of a title for its field, each with the words and names of skills that show it in a text. */
export function formsOfTitle({ words }: TitleShape): ReadonlyMap<string, readonly string[]> {
  const fields = words.filter((word) => !GENERAL.has(word));
  return new Map(fields.map((word) => [word, [word, ...(FORMS.get(word) ?? [])]]));
}

/** The members of each group in the form in which texts are compared; several words are the name of a skill. */
const FORMS = new Map<string, string[]>();
for (const [word, name] of SAME) {
  const form = word.includes('-') ? word.replaceAll('-', ' ') : termOf(word);
  const forms = FORMS.get(name) ?? [];
  if (form !== null) forms.push(form);
  FORMS.set(name, forms);
}
