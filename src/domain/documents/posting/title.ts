import { type Traced, traced } from '../evidence.ts';
import type { LaidOutText } from '../text/layout.ts';
import { companySuffixes, isPositionWord, knownCompanies, placeBook } from '../words/word-lists.ts';

/**
 * The title of a posting, without its surroundings: the employer, genders, place, pay and terms. It is taken from a
 * labelled line, a line at the top, a sentence that names who is sought, the words before genders, or the first clause.
 */
export function findTitle(laidOut: LaidOutText): Traced | null {
  const [labelled, line] = [labelledTitle(laidOut), topLineTitle(laidOut)];
  // A label far below the first title belongs to another job, or is part of a sentence.
  const isNear =
    labelled !== null && (line === null || labelled.lineStart <= line.start || labelled.isCertain);
  return (
    (isNear ? labelled : line) ?? soughtTitle(laidOut) ?? titleBeforeGenders(laidOut) ?? openingTitle(laidOut)
  );
}

interface LabelledTitle extends Traced {
  /** "Job title: …" is certain; "Role: …" may be anything. */
  readonly isCertain: boolean;
  readonly lineStart: number;
}

const LABEL =
  /^(?:job ?title|post(?: title)?|job (?:position|role|offer|ad|opening)|position(?: title)?|title|role|job|vacancy|vacant position|open(?:ing| position| role)|(?:we are |we['’]re )?(?:now |urgently )?(?:hiring|recruiting)|urgently (?:required|needed|wanted)|wanted|needed|stelle|stellenbezeichnung|stellenangebot|stellenanzeige|stellenausschreibung|position|gesucht|poste|intitulé du poste|offre d['’]emploi|recrutement|puesto|oferta de (?:empleo|trabajo)|se busca|posizione|offerta di lavoro|cercasi|cargo|vaga|oferta de emprego|procura-se|functie|functietitel|vacature|gezocht|stanowisko|zatrudni(?:my|ę))\s*(?::|\s[–—-]\s)\s*/iu;
const LABEL_ALONE =
  /^(?:job ?title|post title|position(?: title)?|title|role|stellenbezeichnung|intitulé du poste|functietitel)\s*:?$/iu;
/** The heading above the full text of a posting, which starts with its title. */
const DESCRIPTION = /^(?:full )?(?:job|role|position) description$|^stellenbeschreibung$/iu;
const CERTAIN = /^(?:job ?title|post title|position title|stellenbezeichnung|intitulé|functietitel)/iu;
const TOP = 10;
const LABELLED_TOP = 30;
const LONGEST_TITLE = 110;
/** The part of the line that is searched for the end of the title. */
const LINE_REACH = 400;

function labelledTitle(laidOut: LaidOutText): LabelledTitle | null {
  const { segments } = laidOut;
  for (const [at, segment] of segments.slice(0, LABELLED_TOP).entries()) {
    const skipped = symbolsBefore(segment.text);
    const line = segment.text.slice(skipped);
    const label = LABEL.exec(line);
    if (label !== null && line.length - label[0].length > 2) {
      const praise = CALLS.test(label[0])
        ? (PRAISE_AT.exec(line.slice(label[0].length))?.[0].length ?? 0)
        : 0;
      const found = titleAt(laidOut, segment.start + skipped + label[0].length + praise, segment.end, 0.95);
      if (found !== null) return { ...found, isCertain: CERTAIN.test(line), lineStart: segment.start };
    }
    const next = segments[at + 1];
    if (next !== undefined && DESCRIPTION.test(line) && !/[.!?:;]$/.test(next.text)) {
      const found = next.text.length > LONGEST_TITLE ? null : titleAt(laidOut, next.start, next.end, 0.7);
      if (found !== null && namesHead(found.value) && found.value.split(' ').length <= MOST_TITLE_WORDS)
        return { ...found, isCertain: false, lineStart: segment.start };
    }
    if (!LABEL_ALONE.test(line) || next === undefined || next.text.length > LONGEST_TITLE) continue;
    const below = titleAt(laidOut, next.start, next.end, 0.9);
    if (below !== null) return { ...below, isCertain: false, lineStart: segment.start };
  }
  return null;
}

/** A short line at the top that names a position and is not a sentence. */
function topLineTitle(laidOut: LaidOutText): Traced | null {
  for (const [at, segment] of laidOut.segments.slice(0, TOP).entries()) {
    const { text, start, end } = segment;
    if (text.length > LONGEST_TITLE || /[.!?:]$|[›»]|\S > \S/.test(text) || NO_TITLE_LINE.test(text))
      continue;
    if (segment.isBulleted && at > 0 && !LISTS_JOBS.test(laidOut.segments[at - 1]?.text ?? '')) continue;
    const lead = soughtIn(text)?.end ?? firmBefore(text)?.end ?? 0;
    const found = titleAt(laidOut, start + lead, end, 0.85);
    if (found === null || found.value.split(' ').length > MOST_LINE_WORDS) continue;
    if (namesHead(found.value) || (GENDERS.test(text) && !/^[\p{Ll}]/u.test(found.value))) return found;
  }
  return null;
}

const FIRM_BEFORE =
  /^((?:The )?\p{Lu}[\p{L}\d&.'’-]{0,40}(?: (?:\p{Lu}[\p{L}\d&.'’-]{0,40}|&|of|and|de|la|und)){0,5})(?: is hiring)?(\s?:|\s[–—-])\s+(?=\p{Lu})/u;
/** Words before a colon that do not name an employer: "Exciting Opportunity: Cook". */
const NO_FIRM =
  /(?<!\p{L})(?:opportunity|jobs?|positions?|vacanc(?:y|ies)|careers?|openings?|hiring|roles?|team|wanted|urgent|new|immediate|join|remote|location|department|title|offer|required|needed|shift|time|start|contract|permanent|temporary|location|apply|notice|alert|announcement)(?!\p{L})/iu;

/**
 * "Tidewell Analytics: Senior Data Engineer", "Glenmore Hotels - Night Porter": the employer before the title, and the
 * position where the title starts.
 */
export function firmBefore(line: string): { readonly name: string; readonly end: number } | null {
  const match = FIRM_BEFORE.exec(line.slice(0, LONGEST_TITLE));
  const [whole = '', name = '', joint = ''] = match ?? [];
  if (match === null || NO_FIRM.test(name) || LABEL.test(whole)) return null;
  const isFirm = namesFirm(name) || name.includes('&');
  const isNamed = joint.endsWith(':') && name.includes(' ') && !namesHead(name);
  const clause = /^[^,(|]{2,80}/.exec(line.slice(whole.length))?.[0] ?? '';
  return (isFirm || isNamed) && namesHead(clause) ? { name, end: whole.length } : null;
}

/** "We are looking for a …", "Join us as …": the first that names a known position, otherwise the first unknown one. */
function soughtTitle(laidOut: LaidOutText): Traced | null {
  const text = laidOut.text.slice(0, SOUGHT_REACH);
  let unknown: Traced | null = null;
  for (let from = 0, tries = 0; tries < MOST_TRIES; tries++) {
    const sought = soughtIn(text.slice(from));
    if (sought === null) break;
    const start = from + sought.end;
    const line = /^[^\n]{2,160}/.exec(text.slice(start))?.[0] ?? '';
    const found = titleAt(laidOut, start, start + line.length, 0.7);
    if (found !== null && found.value.split(' ').length <= MOST_TITLE_WORDS) {
      if (namesHead(found.value)) return found;
      if (unknown === null && /\p{L}{3}/u.test(found.value) && !NO_PERSON.test(found.value)) unknown = found;
    }
    from = start;
  }
  return unknown;
}

/** "Wir suchen dich! MFA (w/m/d) für unsere Praxis": the words before the genders name the work. */
function titleBeforeGenders(laidOut: LaidOutText): Traced | null {
  const before = BEFORE_GENDERS.exec(laidOut.text.slice(0, EARLY));
  const words = before?.[1]?.split(NAMED_AS).at(-1);
  if (before === null || words === undefined) return null;
  const start = before.index + before[0].lastIndexOf(words);
  const found = titleAt(laidOut, start, start + words.length, 0.6);
  const isWhole = found !== null && found.end === start + words.length;
  return isWhole && found.value.split(' ').length <= MOST_TITLE_WORDS ? found : null;
}

const EARLY = 600;
const BEFORE_GENDERS =
  /(?:^|[.!?:\n]\s*)(\p{Lu}[^.!?:\n]{1,120}?)\s*\((?:[mwfdxh]\s*[/|]\s*){1,2}[mwfdxh]\)/u;
const NAMED_AS = /(?<!\p{L})(?:als|as|comme|como|eine?[nr]?|eine\/n|une?|an?)\s+(?=\p{Lu})/u;

/** "Waiter wanted, weekends" and "Java developer, Berlin. Spring, SQL.": the first clause, if it names a position. */
function openingTitle(laidOut: LaidOutText): Traced | null {
  const [first] = laidOut.segments;
  if (first === undefined) return null;
  const found = titleAt(laidOut, first.start, first.end, 0.5);
  if (found === null || found.value.split(' ').length > MOST_TITLE_WORDS) return null;
  return namesHead(found.value) ? found : null;
}

/** If a text lists several jobs, the first is read. */
const LISTS_JOBS =
  /(?<!\p{L})(?:openings|vacancies|positions|jobs|roles|stellen|postes|puestos|vacatures)(?!\p{L})[^.]*:$/iu;
const MOST_TITLE_WORDS = 9;
const MOST_LINE_WORDS = 13;
const SOUGHT_REACH = 6000;
const MOST_TRIES = 20;
const NO_TITLE_LINE =
  /^(?:company(?: name)?|employer|organi[sz]ation|hiring company|client|firma|unternehmen|arbeitgeber|entreprise|société|empresa|azienda|bedrijf|location|about|reports? to|contact|department)(?!\p{L})\s*(?:[:–-]|us\b|the\b)/iu;
/** Sought things that are not a person: "looking for new challenges". */
const NO_PERSON =
  /^(?:new|people|someone|somebody|you|talent|candidates|applicants|a way|ways|the right|jemand|dich|sie|euch|te|toi|vous|jou)(?!\p{L})/iu;

const ARTICLES =
  '(?:an?|one|two|three|four|several|multiple|some|the|our(?: very)? first|our|our next|your next|einen|eine|ein|unser(?:e[nrs]?)?|mehrere|neue|une?|un\\(e\\)|des|deux|una?|unos|unas|uno|dos|um|uma|een|de|del|twee|another|additional)';
/** Praise and terms before the name of the work; if capitalized, they may be part of it. */
const PRAISE =
  '(?:new|next|experienced|motivated|talented|skilled|passionate|enthusiastic|reliable|qualified|dynamic|friendly|great|good|hard-?working|energetic|dedicated|full-?time|part-?time|remote|freelance|permanent|temporary|erfahrenen?|engagierten?|motivierten?|zuverlässigen?|neue[nr]?|expérimentée?|motivée?|nouveau|nouvelle)';
const VERBS =
  'calling all|looking (?:for|to (?:hire|recruit|appoint))|seeking|hiring(?: for)?|recruiting|searching for|in (?:need|search) of|we need|needs|wants|welcoming|to appoint|opportunity (?:has arisen |exists |is available )?for|opening for|vacancy for|position for|role for|job as|joins? (?:us|our (?:growing )?team|the team|[^.\\n]{2,40}?) as|work (?:with|for) us as|become|apply (?:now )?(?:for|as)|suchen(?: wir)?|sucht|ich suche|braucht|werden? sie|werde|sind sie|bist du|are you|verstärken? (?:sie )?(?:uns|unser team) als|(?:re)?cherchons|(?:re)?cherche|recrutons|recrute|rejoignez-nous (?:comme|en tant que)|buscamos|se busca|busca|se necesita|necesitamos|necesita|selecciona|contrata|únete como|cerchiamo|cercasi|si cerca|cerca|ricerca|ricerchiamo|assume|procuramos|procura-se|procura|precisamos de|precisa-se de|precisa-se|contratamos|zoeken(?: wij| we)?|zoekt|kom werken als|word|zatrudnimy|szukamy|poszukujemy|poszukuje|(?:gezocht|gesucht|wanted|needed|vacancy)(?=\\s?:)';
const PRAISE_AT = new RegExp(`^(?:${PRAISE}\\s+)+(?=\\p{L})`, 'iu');
const CALLS = /hiring|recruiting|wanted|needed|required|gesucht|gezocht|cercasi/iu;
const WHEN =
  '(?:\\s(?:currently|now|urgently|ab sofort|zum nächstmöglichen zeitpunkt|per sofort|actuellement|actualmente))?';
const SOUGHT = new RegExp(
  `(?<![\\p{L}#-])#?(?:${VERBS})${WHEN}(?:\\s?[:!]\\s*|\\s+)(?:${ARTICLES}\\s+){0,2}(?:${PRAISE}[,\\s]+(?:and\\s+)?){0,3}`,
  'iu',
);

/** The end of a phrase that names who is sought, where the name of the work starts. */
function soughtIn(text: string): { readonly end: number } | null {
  const match = SOUGHT.exec(text);
  return match === null ? null : { end: match.index + match[0].length };
}

const GENDERS =
  /\s*[([]?\s*(?<![\p{L}\d])(?:[mwfdxhg]\s*[/|*]\s*){1,3}(?:[mwfdxhagi*]|divers)(?![\p{L}\d])\s*[)\]]?|\s*\((?:all genders|gn|alle|any gender|d\/f\/m)\)/iu;

/** Terms that end a title anywhere after its first word. */
const TERMS =
  'remote|hybrid|híbrido|ibrido|on-?site|full[ -]?time|part[ -]?time|vollzeit|teilzeit|minijob|temps (?:plein|partiel|complet)|cd[id]|media jornada|jornada (?:completa|parcial)|tiempo (?:completo|parcial)|tempo (?:pieno|parziale|indeterminato|determinato|integral)|fulltime|parttime|contract|permanent|temporary|fixed[ -]term|befristet|unbefristet|freelance|home-?office|télétravail|teletrabajo|(?:outside|inside) ir35|job id|req(?:uisition)?|ref|urgent|immediate start|asap|up to|from|bis zu|salary|pay|start|day shift|night shift|nights|weekends?|weekdays|mon(?:day)?s?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|summer|winter|paid|all levels|dringend';
const TERM_AT = new RegExp(`^#?(?:fully |100 ?% )?(?:${TERMS})(?![\\p{L}])`, 'iu');
const SUM_AT =
  /^(?:[£$€₹]|(?:CHF|EUR|USD|GBP|PLN|SEK|CAD|AUD|INR)\s?\d|\d{1,3}(?:[.,]\d+)?\s?(?:k\b|€|%|h\b|hours|std|uur|-|–|to\b|\+?\s?(?:years?|yrs?|days|months)))/iu;
const BRACKET_NOISE = new RegExp(
  `^[([]\\s*(?:(?:fully |100 ?% )?(?:${TERMS})(?!\\p{L})|\\d{1,3}\\s?(?:[-–]\\s?\\d{1,3}\\s?)?%|[^)\\]]*\\b20\\d\\d\\b|us\\b|uk\\b|eu\\b|mid\\b|senior\\b|junior\\b)`,
  'iu',
);
const WANTED =
  '(?:(?:is|are) )?(?:urgently |immediately |asap )?(?:needed|wanted|required|sought|to join)|gesucht|dringend gesucht|recherchée?s?|gezocht|gevraagd|ricercat[oaie]|buscad[oa]';
const PREPOSITIONS =
  'in|en|em|à|ad?|at|@|bei|bij|chez|presso|near|based|for|für (?:unser|das|die|den|eine?n?|ein|kantine|den standort)|pour|para|per(?! diem)|voor|with|mit|con|avec|com|met|who|that|from|as|on|ab|zum|zur|im|du|located|starting|willing|able|auf|w';
/** Work whose name continues after a preposition. */
const NAME_GOES_ON =
  /^\s+(?:in (?:test|training|charge|residence|chief)|on[- ]call|at large|en chef|à domicile|ad? interim)(?!\p{L})/iu;
/** Academic positions that name their subject: "Lecturer in Modern History". */
const ACADEMIC =
  /(?<!\p{L})(?:professor|lecturer|fellow|research (?:associate|assistant)|postdoc\p{L}*|reader|studentship|phd|chair)$/iu;
/** Labels that lost the line feed before them: "Python DeveloperLocation: Austin". */
const GLUED =
  '(?:Job )?Location|Salary|Compensation|Job ?Type|Job id|Pay|About(?: us| the)|Company|Department|Reports to';
const CUT = new RegExp(
  [
    `(?<genders>${GENDERS.source})`,
    '(?<bracket>\\s+[([])',
    `(?<wanted>\\s+(?:${WANTED})(?![\\p{L}]))`,
    '(?<join>\\s+to (?:join|work|help|support|manage|be|build|drive|run|deliver|oversee|assist|cover|start|develop|provide|our|maintain|take|grow)(?!\\p{L}))',
    `(?<preposition>\\s+(?:${PREPOSITIONS})(?=\\s))`,
    `(?<term>\\s+(?:${TERMS})(?!\\p{L}))`,
    '(?<workload>\\s+\\d{2,3}\\s?(?:[-–]\\s?\\d{2,3}\\s?)?%)',
    `(?<glued>(?<=\\p{L}|\\))(?:${GLUED})(?=[\\s:#]|$))`,
    '(?<separator>\\s+[–—|/•·-]\\s+|\\s*[|•]\\s*|,\\s*|;\\s*|\\s?[!?](?=\\s|$)|(?<!(?<!\\p{L})(?:sr|jr|st|dr|no|nr|mr|ms|ds|asst|dipl|ing|\\p{L}))\\.(?=\\s|$)|:\\s+|\\s+\\p{Extended_Pictographic}|\\s+\\+\\s|\\s*\\*\\*)',
  ].join('|'),
  'giu',
);

/** The title that starts at `start` and ends at `end` at the latest, without symbols before it and terms after it. */
function titleAt(laidOut: LaidOutText, start: number, end: number, confidence: number): Traced | null {
  const skipped = symbolsBefore(laidOut.text.slice(start, end));
  const from = start + skipped;
  const line = laidOut.text.slice(from, Math.min(end, from + LINE_REACH));
  const isPlace = (offset: number) =>
    laidOut.places.some((place) => place.start === from + offset) ||
    placeBook.of((/^[^,;.|/–—!?()]+/.exec(line.slice(offset))?.[0] ?? '').trim()) !== undefined;
  let length = lengthOfTitle(line, isPlace);
  while (
    length > 0 &&
    /[\s,;:.!?–—|/*_-]/.test(line[length - 1] ?? '') &&
    !/\p{Lu}\.$/u.test(line.slice(0, length))
  )
    length--;
  return length < 2 || length > LONGEST_TITLE ? null : traced(laidOut.text, from, from + length, confidence);
}

function lengthOfTitle(line: string, isPlace: (offset: number) => boolean): number {
  for (const match of line.matchAll(CUT)) {
    if (match.index === 0) continue;
    const { separator, bracket, preposition, genders, term } = match.groups ?? {};
    const behind = match.index + match[0].length;
    if (genders !== undefined) {
      // "Koch/Köchin m/w/d"; a single letter may be part of the name ("UX/D").
      return match.index;
    }
    if (bracket !== undefined) {
      const inside = line.slice(behind - 1);
      if (namesFirm(/^[([]([^)\]]{2,60})[)\]]/.exec(inside)?.[1] ?? '')) return match.index;
      if (BRACKET_NOISE.test(inside) || isPlace(behind) || SUM_AT.test(inside.slice(1))) return match.index;
      continue;
    }
    if (preposition !== undefined && NAME_GOES_ON.test(line.slice(match.index))) continue;
    if (preposition?.trim() === 'in' && ACADEMIC.test(line.slice(0, match.index)) && !isPlace(behind + 1))
      continue;
    if (term !== undefined && !namesHead(line.slice(0, match.index))) continue;
    if (separator !== undefined && keepsOn(line, behind, separator, isPlace)) continue;
    return match.index;
  }
  return line.length;
}

const MOST_CLAUSE_WORDS = 4;

/**
 * "Engineer, Platform" and "Teacher, Year 4" continue after the comma; places, terms, amounts and companies are not
 * part of the title.
 */
function keepsOn(
  line: string,
  behind: number,
  separator: string,
  isPlace: (offset: number) => boolean,
): boolean {
  const rest = line.slice(behind);
  if (!/^\s*[,–—-]\s*$|^\s+[/]\s+$/.test(separator)) return false;
  const clause = (/^[^,;.|!?(–—]+/.exec(rest)?.[0] ?? '').split(/\s-\s/)[0]?.trim() ?? '';
  const words = clause.split(/\s+/);
  if (!/^[\p{Lu}\d&]/u.test(clause) || words.length > MOST_CLAUSE_WORDS) return false;
  if (isPlace(behind) || TERM_AT.test(rest) || SUM_AT.test(rest) || LABELLED.test(rest)) return false;
  if (knownCompanies.of(clause) !== undefined) return false;
  if (/[–—-]/.test(separator) && namesFirm(clause)) return false;
  return !words.some((word) => companySuffixes.has(word.toLowerCase()) && word.length > 1);
}

const LABELLED = /^(?:location|salary|pay|start|type|company|contract|hours|job id|ref)[\p{L} ]{0,12}:/iu;

/** "[Remote] ", "(m/w/d) ", "URGENT!!! ", "3 x ": text before the title that is not part of it. */
const NOISE_BEFORE =
  /^(?:(?:vacature|vacancy|stellenangebot|stellenanzeige|offre d['’]emploi|oferta de empleo)\s+(?=\p{L})|#(?:now)?hiring\s*[!:]*\s+(?=\p{L})|#jobs?\s+|[([](?:remote|hybrid|on-?site|urgent|full[ -]?time|part[ -]?time|[mwfdx]\/[mwfdx/]+)[^)\]]{0,20}[)\]]\s*|(?:urgent(?:ly)?|dringend|attention|job alert|new job|hot job|help wanted|now hiring)\s*[!:–\p{Extended_Pictographic}\p{So}]+\s*|\d{1,2}\s?x\s+)+/iu;

function symbolsBefore(text: string): number {
  const symbols =
    /^(?!\.\p{L})(?:(?!#(?:now)?hiring|#jobs?\b)[^\p{L}\p{N}([])*/iu.exec(text)?.[0].length ?? 0;
  return symbols + (NOISE_BEFORE.exec(text.slice(symbols))?.[0].length ?? 0);
}

/** Words that end the name of an employer, and those that start it. */
const FIRM_LAST: ReadonlySet<string> = new Set(
  'hospital clinic council trust hotel hotels inn restaurant restaurants logistics technologies labs partners associates studios solicitors foods brewing brewery bakery pharmacy bank'.split(
    ' ',
  ),
);
const FIRM_FIRST: ReadonlySet<string> = new Set(
  'clinique hôpital mairie hotel hôtel restaurant restaurante ristorante clínica ayuntamiento fundación comune azienda gemeente ziekenhuis szpital przychodnia klinikum seniorenzentrum seniorenheim pflegeheim krankenhaus stadtwerke autohaus'.split(
    ' ',
  ),
);

/**
 * At least two words with a word for a firm in the right place: "Brightloom Logistics", "Clinique Saint-Roch",
 * "Lakeshore Medical Center".
 */
export function namesFirm(name: string): boolean {
  const words = name.trim().toLowerCase().split(/\s+/);
  const [first = '', last = ''] = [words[0], words.at(-1)?.replace(/\.$/, '')];
  if (words.length < 2 || !/^\p{Lu}/u.test(name.trim())) return false;
  if (FIRM_LAST.has(last) || FIRM_FIRST.has(first)) return true;
  if (words.length > 2 && /^cent(?:er|re)$/.test(last)) return true;
  return words.slice(1).some((word) => companySuffixes.has(word) && word.length > 1);
}

/** Positions missing from the lists, because in a CV the same words are names or verbs. */
const MORE_HEADS: ReadonlySet<string> = new Set(
  'internship apprenticeship traineeship praktikum carer sonographer chiropodist dispenser psychiatrist walker picker loader stacker handler groundsworker groundsman groundskeeper farmhand shepherd tiler joiner decorator fabricator rider fishmonger dishwasher actuary organiser purchaser beautician masseuse seamstress strategist solicitor barrister bouncer postman erector mover removalist arborist patissier brewer housemaid butler playworker chaplain ironworker steelworker helper setter turner grinder polisher sprayer valeter sysadmin aushilfe azubi auszubildender auszubildende kommissionierer kraftfahrer bürokauffrau specjalista specjalistka kierowca magazynier sprzedawca sprzedawczyni kasjer księgowy księgowa programista programistka inżynier kierownik pracownik pracownica pielęgniarka pielęgniarz asystent asystentka kucharz kucharka kucharza kelner kelnerka mechanik elektryk spawacz murarz nauczyciel nauczycielka recepcjonista recepcjonistka doradca handlowiec operator opiekun opiekunka analityk'.split(
    ' ',
  ),
);
const HEADS =
  /(?:entwickler|ingenieur|leiter|berater|manager|kaufmann|kauffrau|techniker|fahrer|pfleger|lehrer|geselle|gesellen|kraft|hilfe|helfer|mitarbeiter|monteur|mechaniker|elektroniker|verkäufer|assistent|sachbearbeiter|medewerker|ontwikkelaar|adviseur|monteur|verzorgende)(?:in|innen|n|en)?$/u;

/** German and Dutch write titles as one word: Softwareentwickler, Projektleiterin. The word may be a plural. */
function isHead(word: string): boolean {
  const one = word.replace(/(?:\*in|:in|_in|s|\(e\)|\(in\))$/, '');
  return [word, one].some((form) => isPositionWord(form) || MORE_HEADS.has(form)) || HEADS.test(word);
}

/** "Job Title", "Vacancy": capitalized words that are not a person's name. */
export function isTitleLabel(words: string): boolean {
  return LABEL.test(`${words}: `);
}

export function namesHead(title: string): boolean {
  const words = title.toLowerCase().match(/[\p{L}.+#()*:_-]+/gu) ?? [];
  return words.some((word) => isHead(word) || word.split('-').some(isHead));
}
