import type { LaidOutText } from './lay-out.ts';

/**
 * Papers that speak of people, positions and pay as CVs and postings do and are neither. Each is known by its form at the
 * top, where a CV has a name and a posting a title: the words themselves stand in CVs and postings too ("processed
 * invoices", "wrote minutes").
 */
const SALUTATION =
  /^(?:dear\b|to whom it may concern|(?:hi|hello|hallo|hola|salut|ciao|hoi)(?: \p{L}+|,)|sehr geehrte|liebe[rs]? \p{L}|guten tag|madame\b|monsieur\b|ch[eè]re?s? \p{L}|bonjour|estimad[oa]s?\b|muy señor|querid[oa]s? \p{L}|gentil[ei]\b|egregi[oa]?\b|spett|car[oaie] \p{L}|prezad[oa]s?\b|exm[oa]|geachte\b|beste \p{L}).{0,60}$/iu;
const ENDS_SALUTATION = /[,:!]$|^to whom it may concern|^(?:dear|sehr geehrte)\b/i;

const SUBJECT = /^(?:subject|betreff|objet|asunto|oggetto|assunto|onderwerp|re|fwd?|aw|wg)\s*:/i;

const INVOICE =
  /^(?:tax |pro.?forma )?(?:invoice|rechnung|facture|factura|fattura|fatura|factuur)(?:snummer|nummer)?\W*(?:no|nr|n|num|núm|number|nummer|date)?\W*\d/i;

const NAMED_PAPER =
  /^(?:(?:employment|service|freelance) (?:contract|agreement)|contract of employment|(?:qualifiziertes )?(?:arbeits|zwischen)zeugnis|(?:arbeits|dienst|werk)vertrag|contrat de travail|certificat de travail|contrato (?:de trabajo|de trabalho)|contratto di lavoro|arbeidsovereenkomst|certificate of employment|minutes\b.{0,60}|protokoll (?:der|des|vom)\b.{0,60}|compte.rendu (?:de|du)\b.{0,60}|acta de (?:la )?reuni.{0,60}|verbale (?:di|della)\b.{0,60}|notulen\b.{0,60})\W*$/i;

const PARTIES =
  /\b(?:hereinafter|hereafter (?:called|referred)|nachfolgend (?:arbeit|auftrag|genannt|als)|ci.après (?:dénommé|désigné|l['’])|en adelante,? (?:el|la|denominad)|di seguito (?:denominat|["“«]))/i;
const ATTENDANCE =
  /^(?:attendees|apologies|teilnehmer(?:innen)?|anwesend|présents|asistentes|presenti|aanwezig)\s*:/i;

/** Who explains a trade speaks to the reader, too. */
const GUIDE =
  /^how to (?!apply)|^wie (?:man|sie|du) |^comment (?:devenir|faire)|^cómo (?:ser|hacer)|^come (?:diventare|fare)|\bin this (?:article|course|guide|chapter|paper)\b|\bin diesem (?:artikel|kurs)\b|\bdans cet article\b|\ben este (?:artículo|curso)\b|\bin quest(?:o articolo|o corso)\b/i;

const OF_A_PROGRAM =
  /^#*\s*(?:installation|install|usage|getting started|quick ?start|license|contributing|changelog|build)\W*$/i;
const LINE_OF_CODE =
  /[{;]\s*$|^\s*(?:import |from \S+ import |def |class \w+|const |let |var |function |export |return |public |private |#include|using |\/\/|\/\*|\}|@\w+\()/;
const LEAST_CODE_LINES = 4;
const CODE_SHARE = 0.4;

const TOP_SEGMENTS = 25;
const FIRST_SEGMENTS = 4;
const OPENING_SEGMENTS = 8;
const FIRST_CHARACTERS = 1500;
const GUIDE_CHARACTERS = 400;

/** Whether a text has the form of a letter, an invoice, a contract, minutes, a program or its description. */
export function hasAnotherForm({ text, segments }: LaidOutText): boolean {
  const top = segments.slice(0, TOP_SEGMENTS).map((segment) => segment.text);
  return (
    top.some((line) => (SALUTATION.test(line) && ENDS_SALUTATION.test(line)) || INVOICE.test(line)) ||
    top.slice(0, FIRST_SEGMENTS).some((line) => NAMED_PAPER.test(line)) ||
    top.slice(0, OPENING_SEGMENTS).some((line) => ATTENDANCE.test(line) || SUBJECT.test(line)) ||
    PARTIES.test(text.slice(0, FIRST_CHARACTERS)) ||
    GUIDE.test(text.slice(0, GUIDE_CHARACTERS)) ||
    segments.filter((segment) => OF_A_PROGRAM.test(segment.text)).length >= 2 ||
    isCode(text)
  );
}

function isCode(text: string): boolean {
  const lines = text
    .slice(0, 20_000)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const code = lines.filter((line) => LINE_OF_CODE.test(line)).length;
  return code >= LEAST_CODE_LINES && code >= CODE_SHARE * lines.length;
}
