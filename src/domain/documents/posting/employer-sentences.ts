/**
 * Sentences of a posting about the employer and what it offers: no one is asked for the skills in them. "We are a leading
 * SAP consultancy with 300 employees", "Our clients run on Oracle", "We offer German lessons".
 */

/** What an employer is called. */
const EMPLOYER =
  /^(?:(?!(?:who|that|which)\s)\S+\s+){0,12}?(?:[\p{L}\d]+-)?(?:compan(?:y|ies)|firms?|consultanc(?:y|ies)|consulting|agenc(?:y|ies)|start-?ups?|scale-?ups?|providers?|leaders?|manufacturers?|suppliers?|retailers?|distributors?|vendors?|banks?|insurers?|fintech|(?:soft)?ware house|studio|charity|non-?profit|hospitals?|clinics?|practice|schools?|university|college|institute|hotels?|restaurants?|group|organi[sz]ations?|business|employers?|subsidiary|brands?|partners?|integrator|team of|unternehmen|firma|anbieter|dienstleister|hersteller|\p{L}*beratung|\p{L}*beratungshaus|\p{L}*agentur|\p{L}*gruppe|konzern|\p{L}*marktführer|spezialist|\p{L}*betrieb|klinik|kanzlei|praxis|\p{L}*systemhaus|\p{L}*softwarehaus|entreprise|société|agence|cabinet|éditeur|groupe|filiale|acteur|empresa|compañía|consultora|agencia|líder|grupo|azienda|società|agenzia|gruppo|bedrijf|bureau|marktleider|organisatie|agência|consultoria|firmą|agencją|liderem|spółką|producentem|dostawcą)(?!\p{L})/iu;
/** "We are", "our company has been". */
const OWN =
  /^(?:here at \S+ |as )?(?:(?:we|our \p{L}+|the (?:company|firm|group)|wir|unser\p{L}* \p{L}+|nous|notre \p{L}+|wij|we)\s*(?:are|is|were|was|have been|has been|['’]re|sind|ist|sommes|est|zijn|is)|somos|siamo|jesteśmy)\s+/iu;
/** "Acme Systems is a". Its first word is in capitals, so the pattern has no flag that ignores case. */
const NAMED =
  /^(?:At )?[\p{Lu}\d][\p{L}\d&.'’-]*(?: (?:[\p{Lu}\d&][\p{L}\d&.'’-]*|and|und)){0,4},? (?:is|was|has been|ist|gehört|zählt|est|es|è|jest)(?: also| now| today| proud to be)? (?:an?|the|one of|part of|among|eine?r?|die|der|das|zu|teil|une?|l[ea]|una?|een|het|um|uma) /u;
const OWN_AFFAIRS =
  /^(?:(?:founded|established|headquartered|gegründet|fondée?|fundad[ao]|fondata|opgericht|założon[ay]) (?:in|im|en|nel|em|w)|our (?:clients?|customers?|mission|vision|story|offices?|headquarters|investors|founders?|partners)|unsere (?:kunden|kundinnen|mission|vision|geschichte|partner)|nos (?:clients|partenaires)|nuestros clientes|i nostri clienti|onze klanten|nossos clientes|nasi klienci|we (?:help|serve|supply|sell|employ|operate|advise|partner with)|(?:wir|die \p{L}+) (?:unterstützen|beraten|betreuen|beliefern|begleiten))(?!\p{L})/iu;
const OFFERS =
  /^(?:we (?:also )?(?:offer|provide|give|pay|sponsor)|you(?:['’]ll| will)? (?:get|receive|benefit from)(?! to )|you(?:['’]ll| will) enjoy|wir (?:bieten|fördern)|nous (?:vous )?(?:offrons|proposons)|(?:te )?ofrecemos|(?:ti )?offriamo|(?:wij|we) bieden|oferecemos|oferujemy)(?!\p{L})/iu;
/** A sentence that speaks of the applicant or of the position asks for something. */
const ASKS =
  /(?<!\p{L})(?:you(?:['’](?:re|ve))?(?: will)? (?:are|have|bring|need|know|speak|must|should|can|work|be|use)|your (?:experience|skills|knowledge|profile|background|tasks?|role)|candidates?|applicants?|position|role|job|opportunit(?:y|ies)|looking for|seek(?:ing|s)?|hiring|recruit(?:ing)?|in search of|expect\p{L}*|must|requir\p{L}*|need(?:s|ed)?|(?:an? |big |huge |strong |real )(?:plus|bonus|advantage|asset)|language|stack|fluent|experience (?:with|in|of|as)|experienced|knowledge of|skills in|(?:sie|du) (?:haben|hast|bringen|bringst|sind|bist|sprechen|sprichst)|such(?:en|t)|gesucht|erwart\p{L}*|vorteil|erfahrung|kenntnisse|stelle|sprache|voraussetz\p{L}*|votre|vous (?:avez|êtes|maîtrisez)|recherch\p{L}+|expérience|poste|langue|buscamos|busca|experiencia|puesto|idioma|cerchiamo|esperienza|lingua|procuramos|experiência|zoeken|ervaring|taal|szukamy|poszukujemy|doświadczeni\p{L}*|język\p{L}*)(?!\p{L})/iu;

/** Whether a sentence only says what the employer is, does or offers. */
export function isAboutEmployer(sentence: string): boolean {
  const plain = sentence.replace(/^[\s*•·–—-]+/u, '');
  if (ASKS.test(plain)) return false;
  if (OWN_AFFAIRS.test(plain) || OFFERS.test(plain)) return true;
  const subject = OWN.exec(plain) ?? NAMED.exec(plain);
  return subject !== null && EMPLOYER.test(plain.slice(subject[0].length));
}
