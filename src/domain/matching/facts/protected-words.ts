/**
 * Words that reveal a person's sex, age, family, origin, faith or body. They are removed from every free text before it
 * is compared or sent to a model, so that two CVs that differ only in them are treated alike. Languages are kept as
 * codes: a language counts only if a job asks for it.
 */
export const PROTECTED: ReadonlySet<string> = new Set(
  `he him his himself she her hers herself they themself mr mrs ms miss mx sir madam
  man men woman women male female boy girl boys girls gentleman lady ladies guy guys transgender nonbinary
  father mother dad mom mum parent parents husband wife spouse son sons daughter daughters brother sister maternity paternity
  single married divorced widowed widow widower engaged unmarried marital family children child kids pregnant
  age aged old young younger elderly born birth birthday birthdate birthplace retired pensioner millennial
  nationality citizenship citizen native immigrant migrant refugee foreign foreigner expatriate visa ethnicity ethnic race racial
  black white asian african european american hispanic latino latina latinx arab caucasian indian chinese japanese korean
  vietnamese filipino pakistani bangladeshi nigerian kenyan ghanaian ethiopian moroccan egyptian turkish kurdish iranian
  persian iraqi syrian lebanese israeli palestinian afghan russian ukrainian polish czech slovak hungarian romanian bulgarian
  serbian croatian bosnian albanian greek italian spanish portuguese french german austrian swiss dutch belgian british
  english scottish welsh irish danish swedish norwegian finnish icelandic estonian latvian lithuanian mexican brazilian
  argentinian chilean colombian peruvian venezuelan cuban canadian australian indigenous aboriginal roma jewish
  christian catholic protestant orthodox muslim islamic hindu buddhist sikh atheist church mosque synagogue temple religious
  religion faith disabled disability handicapped wheelchair blind deaf healthy overweight height weight gay lesbian bisexual
  queer lgbt lgbtq photo photograph picture portrait
  seine seinem seinen seiner seines ihre ihrem ihren ihrer ihres ihn ihm
  herr frau männlich weiblich divers ledig verheiratet geschieden verwitwet verlobt vater mutter ehemann ehefrau sohn tochter söhne töchter kind kinder
  kindern elternzeit mutterschutz schwanger geboren geburt jahrgang staatsangehörigkeit staatsbürgerschaft deutsche deutscher türkisch türkin türke polnisch
  katholisch evangelisch muslimisch jüdisch konfessionslos konfession schwerbehindert schwerbehinderung behindert behinderung rollstuhl gehörlos lichtbild
  monsieur madame mademoiselle masculin féminin célibataire marié mariée divorcé divorcée veuf veuve pacsé pacsée père mère fils fille enfant enfants né née
  naissance nationalité française marocaine marocain algérien algérienne tunisien tunisienne catholique musulman musulmane juif juive handicapé handicapée
  handicap enceinte rqth
  hombre mujer varón soltero soltera casado casada divorciado divorciada viudo viuda padre madre hijo hija hijos hijas nacido nacida nacimiento nacionalidad
  española católico católica musulmán musulmana judío judía discapacidad discapacitado discapacitada embarazada
  uomo donna celibe nubile sposato sposata divorziato divorziata vedovo vedova figlio figlia figli nato nata nascita cittadinanza cattolico cattolica
  musulmano musulmana ebreo ebrea disabile disabilità
  homem mulher solteiro solteira divorciada viúvo viúva filho filha filhos nascido nascida nascimento nacionalidade brasileiro brasileira deficiência
  vrouw ongehuwd gehuwd getrouwd gescheiden weduwe weduwnaar vader moeder zoon dochter kinderen geboren nationaliteit nederlandse katholiek moslim joods
  kobieta mężczyzna żonaty mężatka kawaler panna rozwiedziony rozwiedziona wdowa wdowiec dzieci dziecko urodzony urodzona narodowość obywatelstwo katolik
  niepełnosprawność niepełnosprawny niepełnosprawna`.split(/\s+/),
);

const AGE =
  /\b\d{1,2}[- ]?(?:years?[- ]old|y\.?o\.?)\b|\b(?:aged?|age:)\s*\d{1,2}\b|\bborn\b(?:[^.;\n]|(?<=\d)\.){0,40}|\b\d{1,2} (?:jahre? alt|ans(?! d)|años(?! de)|anni(?! di)|anos(?! de)|jaar oud|lat(?! doświadczeni))(?!\p{L})|(?<!\p{L})(?:geboren|née?(?= (?:le|en|à) )|nacid[oa]|nat[oa](?= (?:il|a|nel) )|nascid[oa]|urodzon[ya])(?!\p{L})(?:[^.;\n]|(?<=\d)\.){0,40}/giu;
const WORD = /[\p{L}][\p{L}'’]*/gu;

/** Compulsory service of men, parental leave, and the number of children: each of these words alone may describe work. */
const SERVICE_AND_LEAVE =
  /(?<!\p{L})(?:(?:compulsory |mandatory )?(?:military|national|civilian|compulsory) service|service (?:militaire|national|civil)|servici?z?io militare?|(?:grund)?wehrdienst|(?:wehr)?ersatzdienst|zivildienst|(?:maternity|paternity|parental|adoption|child-?care) leave|elternzeit|mutterschutz|erziehungsurlaub|babypause|congé (?:de )?(?:maternité|paternité|parental)|(?:a )?(?:mother|father|parent) of \p{L}+|(?:mutter|vater) von \p{L}+)(?!\p{L})/giu;

/** Removes mentions of an age, a birth, compulsory service or parental leave. */
export function withoutAges(text: string): string {
  return text.replace(AGE, ' ').replace(SERVICE_AND_LEAVE, (phrase) => ' '.repeat(phrase.length));
}

/** Removes protected words, for readers of whole sentences. */
export function withoutProtected(text: string): string {
  return withoutAges(text)
    .replace(WORD, (word) => (PROTECTED.has(word.toLowerCase()) ? '' : word))
    .replace(/\s+/g, ' ')
    .trim();
}

/** Pronouns for one sex, after words by which a text in their language is known: "er" is also a word of English CVs. */
const PRONOUNS = (
  [
    ['und|mit|für|von|der', 'er|sie|ihr|sein'],
    ['et|les|des|pour|avec', 'ils?|elles?'],
    ['los|las|para|con|y', 'él|ellos|ellas?'],
    ['della|delle|con|per|gli', 'egli|lui|lei|ella'],
    ['para|com|dos|das', 'eles?|elas?|dele|dela'],
    ['het|een|voor|met', 'hij|zij|hem|haar|zijn'],
    ['oraz|dla|przez|jest', 'ona?|jego|jej|jemu'],
    ['pentru|și|si|cu', 'el|ea|lui|ei'],
  ] as const
).map(([known, pronouns]) => [ofWords(known, 'iu'), ofWords(pronouns, 'giu')] as const);

function ofWords(words: string, flags: string): RegExp {
  return new RegExp(`(?<!\\p{L})(?:${words})(?!\\p{L})`, flags);
}

/** Removes the pronouns for one sex of languages other than English, whose pronouns are protected words. */
export function withoutPronouns(text: string): string {
  return PRONOUNS.reduce(
    (left, [known, pronouns]) => (known.test(text) ? left.replace(pronouns, '') : left),
    text,
  )
    .replace(/\s+/g, ' ')
    .trim();
}
