import type { LanguageLevel } from './facts.ts';

/** Two-letter codes of the languages that people write into CVs and postings. */
const CODES =
  `af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja ka kk km kn ko ku lt lv
  mk ml mn mr ms mt my ne nl no pa pl ps pt ro ru sk sl so sq sr sv sw ta te th tl tr uk ur uz vi zh zu`.split(
    /\s+/,
  );

/** Names that the runtime does not give, and those that people use instead. */
const FURTHER: Readonly<Record<string, string>> = {
  mandarin: 'zh',
  cantonese: 'zh',
  farsi: 'fa',
  flemish: 'nl',
  castilian: 'es',
  tagalog: 'tl',
  filipino: 'tl',
  norsk: 'no',
  bokmål: 'no',
};

const LEVELS: readonly (readonly [RegExp, LanguageLevel])[] = [
  [/\b(?:native|mother tongue|muttersprach\w*|langue maternelle|bilingual|first language)\b/iu, 7],
  [/\bc2\b|\b(?:proficien\w*|mastery|near[- ]native|verhandlungssicher)\b/iu, 6],
  [/\bc1\b|\b(?:fluent\w*|fließend|courant|advanced|full professional|business fluent|excellent)\b/iu, 5],
  [/\bb2\b|\b(?:upper[- ]intermediate|professional working|business|good|very good|gut)\b/iu, 4],
  [/\bb1\b|\b(?:intermediate|conversational|limited working|working knowledge|mittel)\b/iu, 3],
  [/\ba2\b|\b(?:elementary|pre[- ]intermediate)\b/iu, 2],
  [/\ba1\b|\b(?:basic\w*|beginner|grundkenntnisse|notions)\b/iu, 1],
];

const byName = namesOfLanguages();

/** The code of a language by one of its names: "German", "Deutsch", "de". */
export function languageCode(name: string): string | null {
  const plain = name.trim().toLowerCase();
  return byName.get(plain) ?? (CODES.includes(plain) ? plain : null);
}

export function languageName(code: string): string {
  return new Intl.DisplayNames(['en'], { type: 'language' }).of(code) ?? code;
}

export function levelIn(text: string): LanguageLevel | null {
  return LEVELS.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

/** Every language that a text names by a whole word. */
export function languagesIn(text: string): readonly string[] {
  const found = new Set<string>();
  for (const [word] of text.toLowerCase().matchAll(/\p{L}+/gu)) {
    const code = byName.get(word);
    if (code !== undefined) found.add(code);
  }
  return [...found];
}

function namesOfLanguages(): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const english = new Intl.DisplayNames(['en'], { type: 'language' });
  for (const code of CODES) {
    const own = new Intl.DisplayNames([code], { type: 'language' }).of(code);
    for (const name of [english.of(code), own]) {
      const plain = name?.toLowerCase();
      if (plain !== undefined && plain.length > 2 && !names.has(plain)) names.set(plain, code);
    }
  }
  for (const [name, code] of Object.entries(FURTHER)) names.set(name, code);
  return names;
}
