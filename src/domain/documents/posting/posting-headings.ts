import type { Segment } from '../text/segments.ts';

export type PostingSection =
  | 'top'
  | 'about'
  | 'tasks'
  | 'must'
  | 'nice'
  | 'education'
  | 'benefits'
  | 'apply'
  | 'other';

/** Headings of postings in seven languages, by words that decide; the first that fits is taken. */
const HEADINGS: readonly (readonly [RegExp, PostingSection])[] = [
  [
    /\b(?:nice.to.haves?|preferred|bonus(?: points)?|desirable|desired|good to have|advantage(?:ous)?|plus(?:es)?|extra credit|optional|wünschenswert|von vorteil|idealerweise|serait un plus|atouts?|deseable|valorable|preferenziali|titolo preferenziale|diferenciais|desejável|pré)\b/i,
    'nice',
  ],
  [
    /\b(?:benefits?|perks|what we offer|we offer|our offer|what['’]?s in it for you|why (?:join|work)|compensation|wir bieten|das bieten wir|unser angebot|benefits?|nous offrons|ce que nous (?:offrons|proposons)|avantages|ofrecemos|qué ofrecemos|beneficios|offriamo|cosa offriamo|benefícios|oferecemos|wat (?:wij|we) bieden|wij bieden|aanbod)\b/i,
    'benefits',
  ],
  [
    /\b(?:how to apply|apply|application process|contact|bewerbung|so bewerben|postuler|candidature|cómo aplicar|candidarsi|como se candidatar|solliciteren)\b/i,
    'apply',
  ],
  [
    /\b(?:responsibilit(?:y|ies)|duties|tasks|what you(?:['’]ll| will) (?:do|be doing)|your (?:role|mission|tasks|job|impact)|the role|role overview|day.to.day|key accountabilities|essential functions|job functions?|(?:ihre|deine) aufgaben|aufgaben(?:gebiet)?|das erwartet (?:sie|dich)|tätigkeiten|missions?|vos missions|responsabilités|funciones|responsabilidades|tareas|mansioni|responsabilità|attività|atividades|taken|werkzaamheden|functieomschrijving|wat ga je doen)\b/i,
    'tasks',
  ],
  [
    /^(?:education(?:al)?(?: requirements?| and experience)?|education|ausbildung|formation|formación|formazione|opleiding)\b/i,
    'education',
  ],
  [
    /\b(?:requirements?|qualifications?|must.haves?|required|minimum|what you(?:['’]ll)? (?:need|bring)|you (?:bring|have)|who you are|your (?:profile|skills|background|experience|qualifications)|about you|skills?|experience|knowledge|competenc(?:y|ies)|what we(?:['’]re| are)? look(?:ing)? for|we (?:expect|need)|ideal candidate|(?:ihr|dein) profil|anforderungen|das (?:bringen sie|bringst du) mit|qualifikationen|voraussetzungen|profil(?: recherché)?|votre profil|compétences|requisitos|perfil|requisiti|profilo|competenze|jouw profiel|functie-?eisen|profiel|vereisten|wat (?:wij|we) (?:vragen|zoeken))\b/i,
    'must',
  ],
  [
    /\b(?:about (?:us|the company|the team|the role|the job|the position)?|who we are|company|our (?:team|story|mission)|overview|summary|description|introduction|über uns|wir über uns|unternehmen|qui sommes|l['’]entreprise|sobre nosotros|la empresa|chi siamo|azienda|sobre (?:nós|a empresa)|over ons|bedrijf)\b/i,
    'about',
  ],
];

const LONGEST_HEADING = 70;

/** A short line without a full stop, ended by a colon, in capitals, or standing alone with a deciding word. */
export function postingHeading(
  segment: Segment,
  next: Segment | undefined,
): { section: PostingSection; length: number } | null {
  const { text } = segment;
  const inline = /^([^:.;,]{3,50}):\s+(?=\S)/.exec(text);
  if (inline !== null && text.length > LONGEST_HEADING) {
    const section = sectionOf(inline[1] ?? '');
    return section === null || (inline[1] ?? '').split(' ').length > 5
      ? null
      : { section, length: inline[0].length };
  }
  if (text.length > LONGEST_HEADING || segment.isBulleted || /[.;,]$/.test(text)) return null;
  const words = text.split(/\s+/).length;
  if (words > 9) return null;
  const section = sectionOf(text);
  if (section === null) return null;
  const isMarked = /[:?]$/.test(text) || text === text.toUpperCase();
  const isTitled = /^\W*[\p{Lu}]/u.test(text) && words <= 6;
  const opensList = next?.isBulleted === true || next?.beginsBlock === true;
  return isMarked || (isTitled && (opensList || words <= 4)) ? { section, length: text.length } : null;
}

function sectionOf(text: string): PostingSection | null {
  return HEADINGS.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}
