import type { EmploymentType, Seniority, WorkMode } from '../parsed-document.ts';
import type { Found, TextRange } from '../text/tokens.ts';

const EMPLOYMENT_TYPE_PATTERNS: readonly (readonly [RegExp, EmploymentType])[] = [
  [
    /(?<!\p{L})(?:internships?|praktikum|praktikant(?:in)?|werkstudent(?:in)?|(?:en|un|de|offre de) stage|stage (?:de|en|chez|conventionné|curriculare|di)|stagiaires?|prácticas|becari[oa]|tirocinio|tirocinante|estágio|estagiári[oa]|stagiair)(?!\p{L})/iu,
    'INTERN',
  ],
  // In lower case, "intern" is also a German adjective.
  [
    /(?<!\p{L})(?:Interns?|INTERNS?|interns)(?!\p{L})|(?<!\p{L})intern(?=\s*(?:$|[,;.(!|\n–-]|needed|wanted|required))/u,
    'INTERN',
  ],
  [
    /(?<!\p{L})(?:full[ -]?time|vollzeit|temps plein|temps complet|tiempo completo|jornada:? completa|tempo pieno|tempo integral|fulltime|voltijd|pełny etat|pełen etat)(?!\p{L})/iu,
    'FULL_TIME',
  ],
  [
    /(?<!\p{L})(?:part[ -]?time|teilzeit|minijob|aushilfe|temps partiel|mi-temps|tiempo parcial|media jornada|jornada:? parcial|tempo parziale|meio período|meio-período|parttime|deeltijd|pół etatu|część etatu)(?!\p{L})/iu,
    'PART_TIME',
  ],
  [
    /(?<!\p{L})(?:freelancers?|freelance|freiberuflich|freie[rn]? mitarbeit(?:er)?|contractors?|contract (?:position|role|job|basis|to hire)|(?:b2b|\d{1,2}[ -]months?|rolling|short-term|long-term) contract|independent contractor|outside ir35|inside ir35|indépendant|autónomo|partita iva|zzp)(?!\p{L})|(?<=^|[,;|·•/(–-]\s?|\n)contract(?=\s*(?:$|[,;|·•/)–.\n-]))|(?<!\p{L})(?:day rate|tagessatz|tjm)(?!\p{L})/iu,
    'CONTRACTOR',
  ],
  [
    /(?<!\p{L})(?:temporary|temp (?:role|job|position)|fixed[ -]term|seasonal|befristet(?:e[rsn]?)?|saisonal|cdd|intérim|temporal|tempo determinato|stagionale|temporário|tijdelijk)(?!\p{L})/iu,
    'TEMPORARY',
  ],
  [
    /(?<!\p{L})(?:volunteers?|voluntary|ehrenamtlich(?:e[rn]?)?|bénévoles?|voluntari[oa]s?|voluntariado|volontari[oa]?|volontariato|vrijwilligers?)(?!\p{L})/iu,
    'VOLUNTEER',
  ],
  [/\bper diem\b/i, 'PER_DIEM'],
];

/** Permanent work is full time, unless the text names the hours next to it. */
const PERMANENT =
  /(?<!\p{L})(?:permanent|festanstellung|unbefristet(?:e[rsn]?)?|cdi|indefinido|tempo indeterminato|clt|vast contract)(?!\p{L})/iu;
const BESIDE_PERMANENT = 80;

/** Counts only in the title or the first lines; further down it means something else ("volunteer days"). */
const NAMED_EARLY: ReadonlySet<EmploymentType> = new Set(['INTERN', 'VOLUNTEER']);
const EARLY = 200;

/** "16 hours per week", "two days a week": part time, if the text does not name the type itself. */
const HOURS_A_WEEK =
  /(?<![\p{L}\d.,-])(?<count>\d{1,2})(?:[.,]\d{1,2})?(?:\s?[-–]\s?\d{1,2}(?:[.,]\d{1,2})?)?\s?(?:(?:h|hrs?|hours?|std\.?|stunden|heures|horas|ore|uur)\s?(?:(?:\/|per|a|an|each|pro|par|por|a la|alla|in der)\s?(?:week|wk|woche|semaine|semana|settimana)|weekly|wöchentlich|hebdomadaires|semanales|semanais|settimanali)|(?:hours?|hrs?|std\.?|stunden|uur)(?=\)))(?!\p{L})/iu;
const FEW_DAYS_A_WEEK =
  /(?<!\p{L})(?:one|two|three|1|2|3)\s(?:days|evenings|mornings|afternoons|nights|shifts|day|evening|morning)\s(?:a|per|each)\sweek(?!\p{L})(?!\s(?:in (?:the|our) office|from home|on-?site|remote|at home))/iu;
const FULL_WEEK_HOURS = 30;

/** The employment type that the text names first; in "full-time or part-time" that is full time. */
export function findEmploymentType(text: string): Found<EmploymentType> | null {
  let first: Found<EmploymentType> | null = null;
  for (const [pattern, value] of EMPLOYMENT_TYPE_PATTERNS) {
    const match = pattern.exec(text);
    if (match === null || (NAMED_EARLY.has(value) && match.index > EARLY)) continue;
    if (NAMED_EARLY.has(value)) return foundAt(match, value);
    if (first === null || match.index < first.start) first = foundAt(match, value);
  }
  const permanent = PERMANENT.exec(text);
  if (permanent === null || (first !== null && first.start < permanent.index))
    return first ?? shortWeek(text);
  const isBeside = (one: Found<EmploymentType> | null) =>
    one !== null && Math.abs(one.start - permanent.index) <= BESIDE_PERMANENT;
  const hours = [first?.value === 'PART_TIME' ? first : null, shortWeek(text)].find(isBeside);
  return hours ?? foundAt(permanent, 'FULL_TIME');
}

function shortWeek(text: string): Found<EmploymentType> | null {
  const hours = HOURS_A_WEEK.exec(text);
  if (hours !== null && Number(hours.groups?.count) < FULL_WEEK_HOURS) return foundAt(hours, 'PART_TIME');
  const days = FEW_DAYS_A_WEEK.exec(text);
  return days === null ? null : foundAt(days, 'PART_TIME');
}

const REMOTE =
  /\b(?:(?:fully |100 ?% |fully-)?remote(?:ly|-first|-friendly)?(?! (?:sensing|control|access|support|monitoring|server|site|location|desktop|hands|user|team|area|village|communit)\w*)|work(?:ing)? from (?:home|anywhere)|wfh|telecommut\w*|telework\w*|home[ -]?office|homeoffice|mobiles arbeiten|ortsunabhängig|télétravail|teletrabajo|trabajo remoto|remoto|en remoto|smart working|da remoto|trabalho remoto|thuiswerk\w*|prac[aęy] zdaln[aąe]j?|zdalnie|anywhere in the world)(?!\p{L})/iu;
/** Negations before "remote", which mean that the work is done on site. */
const NOT_REMOTE =
  /\b(?:not|no|non|kein(?:e|en)?|pas de|nicht|isn['’]t|cannot be|can['’]t be)\s+(?:\w+\s+){0,3}$/i;
const DAYS =
  '(?:[1-4](?:\\s?[-–]\\s?[1-4])?|one|two|three|four|ein|zwei|drei|vier|deux|trois|quatre|dos|tres|cuatro|due|tre|quattro|dois|três|twee|drie|vier|dwa|trzy)';
const DAY_NAMES = '(?:days?|tage?n?|jours?|días?|giorn[io]|dias?|dagen|dni)';
const A_WEEK =
  '(?:a|per|each|pro|die|par|por|a la|alla|in der|w) (?:week|woche|semaine|semana|settimana|tygodniu)';
const IN_OFFICE =
  '(?:in (?:the|our) office|in-office|in office|on-?site|im büro|au bureau|en la oficina|in ufficio|no escritório|op kantoor)';
const AT_HOME =
  '(?:(?:work(?:ing)? )?from home|remote(?:ly)?|wfh|(?:im )?home-?office|homeoffice|mobiles? arbeiten|télétravail|teletrabajo|en remoto|smart working|da remoto|thuiswerken|thuis|pracy zdalnej)';
const HYBRID = new RegExp(
  `(?<!\\p{L})(?:hybrid(?:es|er|en|e|o)?(?! (?:car|cloud|vehicle|engine|app|event|seed|integration|solution|network|drive|infrastructure|mobile|environments?)\\w*)|h[íi]brid[oa]|ibrid[oa]|part(?:ly|ially)[ -]remote|teilweise (?:im )?home-?office|hybrydow[aeoy]\\p{L}?|${DAYS} ${DAY_NAMES}(?: ${A_WEEK})? (?:${IN_OFFICE}|at home|de télétravail|de teletrabajo|di smart working|${AT_HOME})|${AT_HOME},? (?:up to |bis zu |jusqu['’]à |hasta |fino a |tot )?${DAYS} ${DAY_NAMES}|from home (?:for )?the (?:rest|remainder))(?!\\p{L})`,
  'iu',
);
const ON_SITE =
  /(?<!\p{L})(?:(?:5|five|fünf|cinq|cinco|cinque|vijf) (?:full )?(?:days|tage|jours|días|giorni|dagen)(?: (?:a|per|pro|par) week)? (?:in (?:the |our )?office|in-office|on-?site|im büro|au bureau)|(?:in )?(?:the |our )?office (?:5|five) days (?:a|per) week|(?<=location:? )in[- ]person|(?:fully )?on-?site(?! (?:gym|parking|canteen|restaurant|training|childcare|cr[eè]che|interview|visit|support|caf|lunch|kitchen|nursery|facilit)\w*)(?: only)?|in[- ]office only|in-office company|no remote(?: work)?|(?<=^|[,;|/(–-]\s?|\n)on site(?=\s*(?:$|[,;|/)–.\n-]))|(?:arbeit|tätigkeit|präsenz) vor ort|en présentiel|presencial|in presenza|op kantoor|stacjonarn[aeio]\p{L}?)(?!\p{L})/iu;

/** Where the work is done according to the text: remote, hybrid or on site. */
export function findWorkMode(text: string): Found<WorkMode> | null {
  const hybrid = HYBRID.exec(text);
  if (hybrid !== null) return foundAt(hybrid, 'HYBRID');
  const onSite = ON_SITE.exec(text);
  const remote = REMOTE.exec(text);
  if (remote === null) return onSite === null ? null : foundAt(onSite, 'ON_SITE');
  const isRefused = NOT_REMOTE.test(text.slice(Math.max(0, remote.index - 40), remote.index));
  if (isRefused) return foundAt(remote, 'ON_SITE');
  const isOnSiteOnly = onSite !== null && /only|no remote|in-office/i.test(onSite[0]);
  return isOnSiteOnly ? foundAt(onSite, 'ON_SITE') : foundAt(remote, 'REMOTE');
}

/** schema.org only has a value for fully remote work. */
export function findRemote(text: string): Found<'TELECOMMUTE'> | null {
  const mode = findWorkMode(text);
  return mode?.value === 'REMOTE' ? { ...mode, value: 'TELECOMMUTE' } : null;
}

/** Words that express a rank in a title, highest first: the first match is used. */
const RANKS: readonly (readonly [RegExp, Seniority])[] = [
  [
    /\b(?:vp|svp|evp|vice president|chief \p{L}+(?: \p{L}+)? officer|c[etfoimp]o|geschäftsführer(?:in)?|managing director|directeur général|director general)\b/iu,
    'EXECUTIVE',
  ],
  [
    /\b(?:director|directora|directeur|directrice|direttore|direttrice|diretora?|head of|leiter(?:in)? (?:der|des)|bereichsleiter(?:in)?|abteilungsleiter(?:in)?|responsable de)\b/iu,
    'DIRECTOR',
  ],
  [
    /\b(?:lead(?! generation)|team ?lead(?:er)?|tech lead|teamleiter(?:in)?|staff (?:\p{L}+ ){0,3}(?:engineer|developer|designer|scientist)|principal (?=\p{L})|shift leader|schichtleiter(?:in)?)\b/iu,
    'LEAD',
  ],
  [/\b(?:senior(?! (?:living|care|citizen|home)\w*)|sr\.?|sênior|sénior)(?!\p{L})/iu, 'SENIOR'],
  [/\b(?:mid|mid-?level|mid-?senior|intermediate|pleno|confirmée?)(?!\p{L})/iu, 'MID'],
  [
    /\b(?:junior|jr\.?|entry[- ]level|graduate|berufseinsteiger(?:in)?|débutant|júnior|starter)(?!\p{L})/iu,
    'JUNIOR',
  ],
  [
    /\b(?:interns?|internship|trainees?|apprentices?|apprenticeship|werkstudent(?:in)?|praktikant(?:in)?|auszubildende[rn]?|azubi|stagiaire|alternant|becari[oa]|tirocinante|estagiári[oa]|stagiair)\b/iu,
    'INTERN',
  ],
];
const LEVEL_LABEL =
  /^(?:seniority(?: level)?|level|career level|experience level|karrierestufe|niveau|nivel|livello|nível)\s*:\s*(.{2,40})$/imu;
/** "Go developers (mid/senior)", "senior level". */
const LEVEL_BESIDE =
  /\((?:[^()\n]{0,20}[/, ])?(?:senior|junior|mid|mid-level|lead|principal|entry[- ]level|sr\.?|jr\.?)\)|\b(?:senior|junior|mid|entry)[ -]level\b/iu;

/** The rank in the title, or in a label or bracket near it; an assistant to a director has no such rank. */
export function findSeniority(text: string, title: TextRange | null): Found<Seniority> | null {
  if (title !== null) {
    const words = text.slice(title.start, title.end).replace(/\bto (?:the|our)\b.*$/iu, '');
    const found = rankIn(words, title.start);
    if (found !== null) return found;
  }
  const label = LEVEL_LABEL.exec(text.slice(0, LABEL_REACH));
  if (label?.[1] !== undefined) return rankIn(label[1], label.index + label[0].length - label[1].length);
  const reach = title === null ? EARLY : title.end + EARLY;
  const beside = LEVEL_BESIDE.exec(text.slice(0, reach));
  return beside === null ? null : rankIn(beside[0], beside.index);
}

const LABEL_REACH = 3000;

function rankIn(words: string, offset: number): Found<Seniority> | null {
  for (const [pattern, value] of RANKS) {
    const match = pattern.exec(words);
    if (match !== null)
      return { value, start: offset + match.index, end: offset + match.index + match[0].length };
  }
  return null;
}

const NUMBER_WORDS: Readonly<Record<string, number>> = {
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  ein: 1,
  zwei: 2,
  drei: 3,
  vier: 4,
  fünf: 5,
  sechs: 6,
  deux: 2,
  trois: 3,
  quatre: 4,
  cinq: 5,
  dos: 2,
  tres: 3,
  cuatro: 4,
  cinco: 5,
  due: 2,
  tre: 3,
  quattro: 4,
  cinque: 5,
  dois: 2,
  três: 3,
  twee: 2,
  drie: 3,
  vijf: 5,
};
const COUNT = `(?<low>\\d{1,2}|${Object.keys(NUMBER_WORDS).join('|')})`;
const SPAN_OF_TIME = new RegExp(
  `(?<![\\p{L}\\d])${COUNT}\\s?(?:\\(\\d{1,2}\\)\\s?)?\\+?\\s?(?:(?:-|–|to|or|bis|à|a)\\s?\\d{1,2}\\s?\\+?\\s?)?(?:or more |oder mehr )?(?<unit>years?|yrs?|months?|jahre?n?|monate?n?|ans?|années?|mois|años?|mes|meses|anno|anni|mes[ei]|anos?|jaar|maand(?:en)?|lata?|rok|roku|miesięcy)(?:['’]s?)?(?!\\p{L})`,
  'giu',
);
const EXPERIENCE =
  'experience|background|track record|working|berufserfahrung|erfahrung|expérience|experiencia|esperienza|experiência|ervaring|doświadczeni\\p{L}+';
/** Shows that a time span is experience: the word after or before it, what it was spent on, or "at least". */
const OF_EXPERIENCE = new RegExp(
  `^(?:[^.;\\n]{0,60}(?:${EXPERIENCE})|\\s+(?:or more )?(?:in|with|as|of|\\p{L}{3,}ing)(?!\\p{L}))`,
  'iu',
);
const EXPERIENCE_BEFORE = new RegExp(
  `(?:${EXPERIENCE})[^.;,\\n]{0,20}$|(?<!\\p{L})exp\\.?\\s*:\\s*$|(?<!\\p{L})(?:at least|minimum(?: of)?|min\\.|no less than|mindestens|au moins|al menos|almeno|pelo menos|minimaal)\\s+$`,
  'iu',
);
const OF_THE_COMPANY = /\b(?:our|company|founded|over the (?:last|past)|for more than|since|seit über)\s*$/i;
/** The length of a contract, or a required age. */
const OF_SOMETHING_ELSE = /^\s?(?:contract|fixed|old|of age|warranty|befristet|vertrag|de edad)/iu;

/** The required experience in months; the largest figure, if there are several. */
export function findExperience(text: string): Found<number> | null {
  let best: Found<number> | null = null;
  for (const match of text.matchAll(SPAN_OF_TIME)) {
    const raw = (match.groups?.low ?? '').toLowerCase();
    const count = NUMBER_WORDS[raw] ?? Number(raw);
    const isMonths = /^(?:month|monat|mois|mes|maand|mies)/i.test(match.groups?.unit ?? '');
    const value = isMonths ? count : count * 12;
    if (value === 0 || value > 300) continue;
    const before = text.slice(Math.max(0, match.index - 40), match.index);
    const end = match.index + match[0].length;
    const behind = text.slice(end, end + 80);
    if (!OF_EXPERIENCE.test(behind) && !EXPERIENCE_BEFORE.test(before)) continue;
    if (OF_THE_COMPANY.test(before) || OF_SOMETHING_ELSE.test(behind)) continue;
    if (best === null || value > best.value) best = foundAt(match, value);
  }
  return best;
}

function foundAt<Value>(match: RegExpExecArray, value: Value): Found<Value> {
  return { start: match.index, end: match.index + match[0].length, value };
}
