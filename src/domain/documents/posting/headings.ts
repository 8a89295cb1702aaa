import type { Segment } from '../text/tokens.ts';

export type PostingSection =
  | 'top'
  | 'about'
  | 'tasks'
  | 'must'
  | 'nice'
  | 'education'
  | 'benefits'
  | 'apply'
  | 'terms'
  | 'other';

interface PostingHeading {
  readonly section: PostingSection;
  /** The length of the heading within the segment; the rest is content. */
  readonly length: number;
  /** Whether the content of the heading is only on the heading's own line. */
  readonly isInline: boolean;
}

/** Headings of postings in eight languages, by deciding words; the first match is used. */
const HEADINGS: readonly (readonly [RegExp, PostingSection])[] = [
  [
    /(?<!\p{L})(?:nice.to.haves?|great to have|good to have|preferred|preferences|bonus(?: points)?|desirable|desired|advantage(?:ous|s)?|a plus|plus(?:es|ses)?|big plus|extra credit|optional|assets|brownie points|even better|set you apart|stand out|not (?:required|essential|mandatory|a must)|(?:do not|don['’]t|not) (?:require|expect|need)|love to see|(?:even )?happier|would be (?:nice|great|good|a plus|helpful|even|ideal|lovely|amazing|awesome)|would also (?:love|like)|might also|may also|also (?:nice|great|good|welcome)|(?:is|are|but) welcome|ideally|wünschenswert|von vorteil|vorteilhaft|idealerweise|(?:schön|toll|super|gut|prima|ideal) wäre|wäre (?:schön|toll|super|gut|prima|ideal|von)|nice wäre|ein plus|pluspunkte?|bonuspunkte?|gern gesehen|seraient? un plus|un plus|atouts?|encore mieux|appréciée?s?|souhaitée?s?|idéalement|deseables?|se valorar?á?|valorables?|valoramos|valoraremos|preferenziali|titolo preferenziale|gradit[oaie]|sarebbe un plus|diferenciais|diferencial|desejáve(?:l|is)|valorizamos|pré|pluspunten|mooi meegenomen|bij voorkeur|mile widzian\p{L}+|dodatkow\p{L}+ atut\p{L}*|highly regarded|petits? plus)(?!\p{L})|^(?:should|could|welcome)(?: haves?)?\W*$/iu,
    'nice',
  ],
  [
    /(?<!\p{L})(?:benefits?|perks|what we(?: can)? offer|we offer|our offer|what(?:['’]s| is) in it for you|what (?:do )?you(?:['’]ll| will)? get|why (?:join|work|us|you)|compensation|wir bieten|das bieten wir|was wir (?:(?:ihnen|dir|euch) )?bieten|unser angebot|darauf (?:kannst|können)|nous offrons|ce que nous (?:offrons|proposons)|avantages|ofrecemos|qué ofrecemos|beneficios|offriamo|cosa offriamo|benefícios|oferecemos|o que oferecemos|wat (?:wij|we) bieden|wat bieden (?:wij|we)|wij bieden|aanbod|oferujemy|co oferujemy)(?!\p{L})/iu,
    'benefits',
  ],
  [
    /(?<!\p{L})(?:how to apply|apply|application process|next steps|contact|bewerbung|so bewerben|postuler|candidature|cómo aplicar|candidarsi|como se candidatar|solliciteren|aplikuj)(?!\p{L})/iu,
    'apply',
  ],
  [
    /(?<!\p{L})(?:to be successful|to succeed|you(?:['’]ll| will)? need|you must|must.haves?|requirements?|you should have)(?!\p{L})/iu,
    'must',
  ],
  [
    /(?<!\p{L})(?:responsibilit(?:y|ies)|duties|tasks|what (?:will )?you(?:['’]ll| will)? (?:do|be doing|work on)|you(?:['’]ll| will) be (?:responsible|doing|working)|your (?:role|mission|tasks|job|impact|day)|the (?:role|job|work)|role overview|day.to.day|key accountabilities|essential functions|job functions?|(?:ihre|deine|eure) aufgaben|aufgaben(?:gebiet)?|das erwartet (?:sie|dich)|was (?:sie|dich) erwartet|tätigkeiten|missions?|vos missions|responsabilités|funciones|responsabilidades|tareas|tus funciones|mansioni|responsabilità|attività|cosa farai|atividades|taken|werkzaamheden|functieomschrijving|wat ga je doen|obowiązk\p{L}+|(?:twoje )?zadania|zakres obowiązków)(?!\p{L})/iu,
    'tasks',
  ],
  [
    /^(?:education(?:al)?(?: requirements?| and experience)?|education|ausbildung|formation|formación|formazione|opleiding)(?!\p{L})/iu,
    'education',
  ],
  [
    /(?<!\p{L})(?:requirements?|qualifications?|criteria|must.haves?|need to haves?|required|essentials?|mandatory|minimum|non-negotiables?|what (?:do )?you(?:['’]ll| will| should)? (?:need|bring|have)|you(?:['’]ll| will)? (?:bring|have|need)|you should|you are|who you are|to be successful|to succeed|success(?:ful)? (?:candidate|applicant)|your (?:profile|skills|background|experience|qualifications)|about you|skills?|experience|knowledge|competenc(?:y|ies)|what we(?:['’]re| are)? (?:look(?:ing)?|ask(?:ing)?) for|looking for|we (?:expect|need|ask)|ideal (?:candidate|applicant|person)|(?:ihr|dein|euer) profil|anforderungen|(?:das|was) (?:bringen sie|bringst du|sie|du) mit\p{L}*|das bringst du mit|wir erwarten|(?:sie|du) (?:haben|hast|bringen|bringst)(?: mit)?|qualifikationen|voraussetzungen|profil(?: recherché)?|votre profil|ton profil|compétences|(?:ce que )?nous attendons|vous (?:avez|êtes)|exigences|requisitos|perfil|qué buscamos|buscamos|se requiere|imprescindible|requisiti|profilo|competenze|cosa cerchiamo|o que procuramos|procuramos|obrigatórios?|jouw profiel|wie ben jij|functie-?eisen|profiel|vereisten|(?:dit|wat) (?:vragen|zoeken) (?:wij|we)|wat (?:wij|we) (?:vragen|zoeken)|wat (?:vragen|zoeken) (?:wij|we)|wij vragen|wymagani\p{L}+|oczekujemy|oczekiwania|czego oczekujemy)(?!\p{L})|^musts?\W*$/iu,
    'must',
  ],
  [
    /(?<!\p{L})(?:about(?: (?:us|the company|the team|the role|the job|the position))?|who we are|what we do|company|our (?:team|story|mission)|overview|summary|description|introduction|über uns|wir über uns|wer wir sind|unternehmen|qui sommes|l['’]entreprise|sobre nosotros|quiénes somos|la empresa|chi siamo|azienda|sobre (?:nós|a empresa)|over ons|wie zijn wij|bedrijf|o nas|o firmie)(?!\p{L})/iu,
    'about',
  ],
];

const LONGEST_HEADING = 70;
const MOST_WORDS = 9;
/** A line before a list may be a sentence that the list completes: "To be successful in this role you will need". */
const LONGEST_LEAD_IN = 110;
const MOST_LEAD_IN_WORDS = 16;

/** Labels followed by their list on the same line, even a short one. */
const ASKED_LABEL =
  /^(?:must(?:.haves?)?|essential|required(?: skills)?|needed|requirements?|you|nice.to.haves?|desirable|good to have|preferred|welcome|plus|pluses|bonus|(?:key |required )?skills|experience|qualifications|anforderungen|voraussetzungen|profil|von vorteil|erforderlich|exigé|requis|souhaité|atouts?|mandatory(?: skills)?|technical skills|wymagania|mile widziane|requisitos|imprescindible|deseable|valorable|requisiti|richiesto|gradito|obrigatório|desejável|diferenciais|vereist|pré)$/iu;
/** Lines about terms: they are neither required nor nice to have, and they end a list. */
const TERMS_LABEL =
  /^(?:(?:job |work )?(?:location|place|type|hours|schedule|model|mode)|base|where|day rate|notice period|package|organi[sz]ation|firm|commitment|grade|directorate|standplaats|dienstverband|jahreslohn|lokalizacja|wynagrodzenie|miejsce pracy|when|start(?: date)?|salary(?: range)?|pay(?: range)?|rate|wage|compensation|employment(?: type)?|contract(?: type)?|company|employer|school|department|reports? to|reporting to|closing date|deadline|posted(?: on)?|date posted|ref(?:erence)?|job id|contact|phone|tel|e-?mail|website|duration|standort|arbeitsort|gehalt|vergütung|beginn|arbeitszeit|bewerbungsfrist|lieu|salaire|rémunération|contrat|date limite|ubicación|lugar|salario|jornada|contrato|sede|luogo|retribuzione|ral|contratto|scadenza|local|salário|prazo|locatie|salaris|uren|sluitingsdatum)\s*:/iu;

/**
 * Short lines that are requirements themselves: "Knowledge of SQL", "German is a plus", "First aid certificate
 * required".
 */
const ITEM =
  /(?<!\p{L})(?:experience|knowledge|skills?|qualifications?) (?:in|with|of|as|on) |(?:minimum|at least|mindestens) (?:of )?\d|^\d|^(?:(?:at least|minimum(?: of)?|mindestens|au moins|al menos|almeno) )?(?:\p{L}+ )(?:years?|months?|jahre?|monate?|ans?|mois|años?|meses|anni|mesi|anos|jaar|maanden)(?:['’]s?)?(?!\p{L})|^(?!(?:it|this|that|what|these|which|things|das|was|dies|ce|not|also|even|nice|skills?|experience|qualifications|criteria|requirements|nothing)(?!\p{L}))[^:]*\p{L}(?<!skills|qualifications|criteria|requirements|experience|would|also|not)\)? (?:(?:is|are|ist|sind|wäre|est|es|è|is een) )?(?:an? (?:\p{L}+ )?(?:plus|bonus|advantage|asset|must)|preferred|desirable|welcome|essential|required|mandatory|needed|von vorteil|wünschenswert|erforderlich|zwingend|appréciée?|souhaitée?|exigée?|deseable|imprescindible|gradit[oa]|richiest[oa]|desejável|vereist|pré)\W*$/iu;
const QUOTES = /[*_#"“”„«»]+/g;

/**
 * A short line without a full stop that ends with a colon, is in capitals, or is alone with a deciding word; or a label
 * with its list.
 */
export function postingHeading(segment: Segment, next: Segment | undefined): PostingHeading | null {
  const { text } = segment;
  if (TERMS_LABEL.test(text)) return { section: 'terms', length: 0, isInline: true };
  const inline = /^([^:.;,]{3,50}):[*_]*\s+(?=\S)/.exec(text);
  if (inline !== null) {
    const label = (inline[1] ?? '').replace(QUOTES, '').trim();
    const isLabel = ASKED_LABEL.test(label);
    if (!isLabel && text.length <= LONGEST_HEADING) return null;
    const section = label.toLowerCase() === 'you' ? 'must' : sectionOf(label);
    if (section === null || label.split(' ').length > 5) return null;
    return { section, length: inline[0].length, isInline: true };
  }
  if (segment.isBulleted || next === undefined) return null;
  const plain = text.replace(QUOTES, '').trim();
  const isWhole = { length: text.length, isInline: false };
  const words = plain.split(/\s+/).length;
  const isMarked = /[:?…]$/.test(plain) || (plain === plain.toUpperCase() && /\p{Lu}/u.test(plain));
  if (plain.length <= LONGEST_HEADING && words <= MOST_WORDS && !/[.;,!]$/.test(plain)) {
    const section = sectionOf(plain);
    const isTitled = /^\W*\p{Lu}/u.test(plain) && words <= 6;
    const opensList = next.isBulleted || next.beginsBlock;
    const isAlone = isTitled && (opensList || words <= 4) && !ITEM.test(plain);
    if (section !== null && (isMarked || isAlone)) return { section, ...isWhole };
  }
  return opensListAsSentence(plain, words, next) ? leadInOf(plain, isWhole) : null;
}

/** "It would be a plus if you" above bullets: a line that its list completes. */
function opensListAsSentence(plain: string, words: number, next: Segment): boolean {
  if (plain.length > LONGEST_LEAD_IN || words > MOST_LEAD_IN_WORDS || /[.;,!]$/.test(plain)) return false;
  return /[:…]$/.test(plain) || (next.isBulleted && !next.beginsBlock && words >= 3);
}

function leadInOf(
  plain: string,
  isWhole: { readonly length: number; readonly isInline: boolean },
): PostingHeading | null {
  const section = sectionOf(plain);
  return section === null ? null : { section, ...isWhole };
}

/** The section by deciding words; null if there are none. */
function sectionOf(text: string): PostingSection | null {
  return HEADINGS.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

/** Whether a line only introduces a list: it is never a requirement itself. */
export function introducesList(text: string): boolean {
  const plain = text.replace(QUOTES, '').trim();
  return /[:…]$/.test(plain) || (/\?$/.test(plain) && plain.length <= LONGEST_HEADING);
}
