/** A sign and its points. Each counts once, even if it occurs several times, so that length alone decides nothing. */
type Sign = readonly [RegExp, number];

/** The text addresses the reader as the future employee. A CV does not address its reader. */
export const SPOKEN_TO: readonly Sign[] = [
  [
    /\b(?:the|our) (?:ideal|successful|right) (?:candidate|applicant)\b|\bthe (?:post|job) ?holder\b|\bapplicants (?:need|must|should|will)\b|\bas an? [\p{L} ]{3,40} you\b|\byou (?:will|have|bring|are|must|should)\b|\byou['’]ll\b|\byour (?:profile|role|responsibilities|tasks|mission|skills)\b|(?:^|[.:!?]\s+)you \p{L}{2,}/imu,
    2,
  ],
  [
    /\b(?:(?:ihr|dein) profil|(?:ihre|deine)[nr]? aufgaben|das erwartet (?:sie|dich)|votre (?:profil|mission)|vos missions|tu perfil|tus funciones|te encargarás|te responsabilizarás|il tuo profilo|il candidato|la risorsa|ti occuperai|si occuperà|o seu perfil|jouw (?:profiel|functie)|je (?:bent|hebt|krijgt|werkt)|wat ga je doen)(?!\p{L})|(?:^|[.:!?]\s+)(?:sie \p{L}+n|du \p{L}+st|vous \p{L}{2,})(?!\p{L})|(?<!\p{L})vous \p{L}{2,}ez(?!\p{L})|(?<!\p{L})\p{L}{3,}(?:arás|erás|irás)(?!\p{L})/imu,
    2,
  ],
];

/**
 * Wording of postings that CVs do not have: an employer that describes itself and the work, and addresses the reader.
 * One sign per statement, in the seven languages that the engine knows. No sign reaches the threshold alone, because
 * newspapers also write "we are hiring".
 */
export const POSTING_SIGNS: readonly Sign[] = [
  // A person is wanted.
  [
    /\bwe(?:['’]re| are)? (?:currently )?(?:looking for|hiring|seeking|searching|recruiting)\b|\bjoin (?:our|us)\b|\b(?:person|colleague|someone|somebody) (?:that |whom? )?we (?:look|are looking) for\b|\bwe (?:look for|need) an? \p{L}|\b(?:our|the) [\p{L} ]{3,30}(?:is growing|needs (?:an?|another|new))\b|\bour client\b|\bis (?:seeking|looking for|recruiting) an? (?:experienced|motivated|skilled|qualified|talented|full|part)\b|\bwanted[.!]?$|^wanted:|\bwe (?:currently |now )?have (?:an? |the following |several |some |two |three |\d+ )?(?:\p{L}+ ){0,2}(?:openings?|vacanc(?:y|ies)|open positions?)\b/imu,
    2.5,
  ],
  [
    /\bwir suchen\b|\bsuchen wir\b|\bsucht (?:ab sofort|zum|eine?n?)\b|\bgesucht\b|\bbraucht (?:ab|eine?n?|neue|verstärkung)\b|\bnous (?:re)?cherchons\b|\brecherche (?:une?|son|sa|des)\b|\bbuscamos\b|\bse busca\b|\b(?:necesita|precisa|incorpora|selecciona|contrata)(?:mos)? (?:a )?una?\b|\b(?:cerchiamo|si cerca)\b|\balla ricerca di\b|\b(?:ricerca|cerca|seleziona|assume) (?:una? |\p{L}+(?:[eia]|ore|ista)(?!\p{L}))|\b(?:procuramos|procura-se)\b|\b(?:wij zoeken|zoeken wij|zoekt een|gezocht)\b/iu,
    2.5,
  ],
  ...SPOKEN_TO,
  [/(?<!\p{L})(?:poszukujemy|szukamy|zatrudnimy|zatrudnię|zatrudni|poszukuje)(?!\p{L})/iu, 2.5],
  // The text calls itself a posting.
  [
    /\b(?:job (?:description|summary|title|type|location|requirements?|id|purpose)|position (?:summary|overview|title)|about (?:the (?:role|job|position|team|company)|us)|what (?:we|you)(?:['’]ll)? (?:offer|do|bring|need)|who you are|who we are|the role)\b|\b(?:stellen(?:beschreibung|anzeige|angebot|ausschreibung)|offre d['’]emploi|oferta de (?:empleo|trabajo)|offerta di lavoro|oferta de emprego|vaga de emprego|vacature|functieomschrijving)\b/i,
    2,
  ],
  // Requirements and nice-to-haves.
  [
    /^\W{0,6}(?:key |main |your |core |essential |job )?(?:responsibilities|duties|requirements|must.haves?|nice.to.haves?|preferred (?:qualifications|skills)|required (?:qualifications|skills|experience)|minimum qualifications|basic qualifications|benefits|perks|what we offer|how to apply)\b|^\W{0,6}(?:essential|desirable|must|good to have)(?: (?:criteria|skills|experience))?\W{0,3}(?:$|:)|\bwhat we(?:['’]re| are)? (?:ask|look|looking) for\b|\bwe (?:expect|ask for)\b|\bmust be able to\b|\bno experience (?:needed|necessary|required)\b/im,
    2,
  ],
  [
    /^\W{0,6}(?:(?:unsere )?anforderungen|voraussetzungen|funciones|mansioni|responsabilidades|functie-?eisen)\b|\b(?:bringen sie|bringst du|sie bringen|was du mitbringst|was sie mitbringen|wir erwarten|du bringst|vorausgesetzt w(?:ird|erden)|setzen wir voraus|(?:führerschein|kenntnisse|ausbildung|erfahrung|deutsch)[^.\n]{0,40} (?:erforderlich|notwendig|zwingend)|profil recherché|nous attendons|(?:diplôme|permis|expérience)[^.\n]{0,40} (?:exigée?|souhaitée?|requise?)|débutants? acceptés?|prise de poste|requisitos|imprescindibles?|incorporación inmediata|experiencia mínima|interesad[oa]s enviar|inserimento immediato|se requieren?|se valorará|requisiti|si richied(?:e|ono)|(?:è )?richiest[aoie]|wij vragen|wat (?:wij|we) vragen)(?!\p{L})/imu,
    2,
  ],
  [
    /^\W{0,6}(?:wymagania|oczekujemy|oczekiwania|zakres obowiązków)(?!\p{L})|(?<!\p{L})mile widzian\p{L}+|(?<!\p{L})wymagan[aey] (?:doświadczenie|znajomość|prawo)/imu,
    2,
  ],
  // What is offered.
  [
    /\bwe(?: can)? offer\b|\bwir bieten\b|\bbieten wir\b|\bnous (?:offrons|proposons)\b|\bofrecemos\b|\bse ofrece\b|\boffriamo\b|\bsi offre\b|\boferecemos\b|\b(?:wij|we) bieden\b|\boferujemy\b|\bwat bieden (?:wij|we)\b/i,
    1.5,
  ],
  [
    /\b(?:salary|compensation|pay)(?: range)?\s*[:–£$€-]|\bper annum\b|\bcompetitive (?:salary|pay|compensation)\b|[\d£$€] (?:per|an|a) hour\b|[£$€]\s?\d[\d.,]*k? ?[-–] ?[£$€]?\s?\d[\d.,]*k?|\d ?k€|\bgood pay\b|\bwir zahlen\b|\b(?:stundenlohn|lohn)\b[^.\n]{0,12}\d|\b(?:das |ihr |dein )?(?:gehalt|vergütung) (?:liegt|beträgt|nach|von)\b|\b(?:über)?tarifliche (?:bezahlung|vergütung)\b|\b(?:salaire|rémunération|salario|retribuzione|salário|salaris|wynagrodzenie|stawka)\s*(?::|\d|selon|según|de |da |brut|lord|bruto)/i,
    1.5,
  ],
  // How to apply.
  [
    /\bapply (?:now|today|online|via|by|at|here)\b|\bhow to apply\b|\bclosing date\b|\bwith your cv\b|\bsend (?:your|us your) (?:cv|resume|application)\b|\bapplications?\b.{0,30}\b(?:close|deadline)\b|\bbewerb(?:en sie sich|ung|e dich)\b|\bpostulez\b|\b(?:envoyez|adressez).{0,20}\b(?:cv|candidature)\b|\benvía(?:nos)? tu (?:cv|currículum)\b|\binvia(?:re|ci)? (?:il|la|il tuo|la tua)? ?(?:cv|curriculum|candidatura)\b|\bcandidat[ei](?:vi|ti)\b|\bcandidate-se\b|\bsolliciteer\b/i,
    2,
  ],
  [/\bequal opportunit|\bregardless of (?:race|gender|age)|\bwithout regard to race/i, 3],
  [/\(\s*(?:[mwfdx]\s*\/\s*){2}[mwfdxa*]\s*\)|\b(?:m\/w\/d|f\/m\/d|m\/f\/d|h\/f|f\/h)\b/i, 3],
  [
    /\b(?:at least|minimum(?: of)?|\d\+?) (?:\w+ )?years?(?:['’])? (?:of )?(?:\w+ )?experience (?:in|with|as|required|is)\b|\b(?:candidates|experience|degree|licen[cs]e) (?:is |are )?(?:preferred|required)\b|\b(?:is|are) (?:required|needed|essential|preferred|a (?:strong |big |real )?plus|an advantage|desirable|welcome)\b|\breport(?:s|ing) to the\b|\ba plus\b|\bimmediate start\b|\bstart as soon as\b|\bvon vorteil\b|\bwünschenswert\b|\bserait un (?:plus|atout)\b|\bse valora\b|\bcostituisce titolo preferenziale\b/i,
    1,
  ],
];

const HOURS_AND_TERM =
  'full.?time|part.?time|fixed.term|vollzeit|teilzeit|unbefristet|befristet|festanstellung|minijob|cd[id]|temps (?:plein|partiel)|jornada (?:completa|parcial)|media jornada|tiempo completo|contrato indefinido|tempo (?:pieno|indeterminato|determinato|inteiro|integral)|vast contract|pełny etat|pół etatu|umow[aęy] (?:o pracę|zlecenie)';

/** Terms of employment. CVs and contracts name them too. */
export const TERMS_OF_WORK: Sign = [
  new RegExp(
    `\\b(?:${HOURS_AND_TERM}|permanent|hybrid|remote|on.?site|shifts|nights|homeoffice|days a week|montag bis freitag|turnos? (?:partido|de)|télétravail|teletrabajo|\\d\\d (?:hours|stunden|heures|horas|ore|uur))\\b`,
    'i',
  ),
  1,
];

/** Flats, courses and programs have requirements too; a text without any of these words is not about a job. */
export const SAYS_WORK = new RegExp(
  [
    `\\b(?:${HOURS_AND_TERM})\\b`,
    String.raw`\bexperience (?:in|with|as|of)\b|\byears?['’]? (?:of|in) |\b(?:job|vacancy|candidates?|applicants?|employ(?:er|ment)|hiring)\b`,
    String.raw`\b(?:(?:berufs)?erfahrung|ausbildung|führerschein|stelle|arbeitgeber|mitarbeiter(?:in)?|expérience|emploi|poste)(?!\p{L})`,
    String.raw`\b(?:experiencia|empleo|puesto|esperienza|lavoro|experiência|emprego|ervaring|vacature|baan|doświadczeni[ea]|stanowisk[ou]|praca)(?!\p{L})`,
    String.raw`\(\s*[mwfdx]\s*\/|\b[hf]\/[hf]\b|\bequal opportunit`,
  ].join('|'),
  'iu',
);

export const CV_SIGNS: readonly Sign[] = [
  [/\b(?:curriculum vitae|lebenslauf|r[ée]sum[ée]|currículum|currículo)(?!\p{L})/iu, 2.5],
  [
    /\b(?:references? (?:available|upon)|date of birth|nationality|marital status|geburtsdatum|geboren am|date de naissance|fecha de nacimiento|data di nascita|hobbies)\b/i,
    2,
  ],
  [
    /\b(?:career objective|professional summary|work history|employment history|berufserfahrung|expérience professionnelle|experiencia laboral|esperienz[ae] lavorativ[ae]|werkervaring|languages known)\b/i,
    2,
  ],
  [
    /\b(?:responsible for|worked (?:as|with|on|at|in)|developed|managed|designed|implemented|led a|i (?:am|have|was|worked)|my )\b/i,
    1,
  ],
  [/\b(?:linkedin\.com\/in|github\.com)\//i, 1],
];

export function pointsOf(text: string, signs: readonly Sign[]): number {
  return signs.reduce((sum, [pattern, points]) => sum + (pattern.test(text) ? points : 0), 0);
}
