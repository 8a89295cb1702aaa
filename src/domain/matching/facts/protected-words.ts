/**
 * Words that tell a person's sex, age, family, origin, faith or body. They are taken out of every free text before it is
 * compared or sent to a model, so that two CVs that differ only in them are the same CV here. Languages are not among
 * them by their codes: a language counts where a job asks for it, and only then.
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
  queer lgbt lgbtq photo photograph picture portrait`.split(/\s+/),
);

const AGE =
  /\b\d{1,2}[- ]?(?:years?[- ]old|y\.?o\.?)\b|\b(?:aged?|age:)\s*\d{1,2}\b|\bborn\b[^.;\n]{0,40}/giu;
const WORD = /[\p{L}][\p{L}'’]*/gu;

/** A text without what is said of an age or a birth. */
export function withoutAges(text: string): string {
  return text.replace(AGE, ' ');
}

/** A text without those words, for whatever reads whole sentences. */
export function withoutProtected(text: string): string {
  return withoutAges(text)
    .replace(WORD, (word) => (PROTECTED.has(word.toLowerCase()) ? '' : word))
    .replace(/\s+/g, ' ')
    .trim();
}
