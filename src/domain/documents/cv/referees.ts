import type { LaidOutText } from '../text/layout.ts';
import { spelled } from '../text/sections.ts';
import type { TextRange } from '../text/tokens.ts';
import { segmentAt } from './entries.ts';

const REFEREES =
  /^(?:(?:professional|personal|character|academic|employment|work) )?(?:references?|referees?|recommendations?|testimonials|referenzen|références?|recommandations|referencias(?: (?:personales|laborales))?|recomendaciones|referenze|referências|recomendações|referenties?|referencje|referencie|referenciák|referințe|recomandări|referenser|referencer|referanser|referans(?:lar)?)(?!\p{L})/u;
/** "References: available on request" names no one; what follows is the person's own. */
const ON_REQUEST =
  /\b(?:on|upon) request|\bavailable\b|auf (?:anfrage|wunsch)|sur demande|su richiesta|bajo petición|a pedido|op (?:aan)?vraag/i;

/** 1 for segments under a heading for references: their names, addresses and positions are those of other people. */
export function refereeSegments({ headings, segments }: LaidOutText): Uint8Array {
  const found = new Uint8Array(segments.length);
  let isOfReferees = false;
  segments.forEach(({ text }, at) => {
    const heading = headings[at];
    if (heading != null) {
      const name = spelled(text.slice(0, heading.length)).replace(/^[^\p{L}]+/u, '');
      isOfReferees = REFEREES.test(name);
    }
    if (isOfReferees && text.length < 120 && ON_REQUEST.test(text)) isOfReferees = false;
    if (isOfReferees) found[at] = 1;
  });
  return found;
}

/** The text with the addresses and telephone numbers of the person alone, without those of referees. */
export function withoutReferees(laidOut: LaidOutText): LaidOutText {
  const ofReferees = refereeSegments(laidOut);
  if (!ofReferees.includes(1)) return laidOut;
  const isOwn = ({ start }: TextRange) => ofReferees[segmentAt(laidOut, start)] !== 1;
  const { emails, phones, links } = laidOut;
  return {
    ...laidOut,
    emails: emails.filter(isOwn),
    phones: phones.filter(isOwn),
    links: links.filter(isOwn),
  };
}
