import { inShort, itemsOf, linesOf, summarise, wordsOfName } from './text-parts.ts';

/**
 * Finds what a conversation says about a name: `Email: a@b.c` for email, `"age": 42` for age, `42 years` for years. The
 * text is scanned once for labels; everything else is a limited number of searches.
 */
export interface FoundValues {
  /** Verbatim; null if there is none. */
  text(name: string): string | null;
  number(name: string): number | null;
  boolean(name: string): boolean | null;
  /** The items of an enumeration, or of the list below a heading. */
  list(name: string): readonly string[] | null;
  /** Those of these words or phrases that are in the text, in its order. */
  mentioned(options: readonly string[]): readonly string[];
}

export interface Conversation {
  /** Everything said by users and tools. */
  readonly text: string;
  readonly lastMessage: string;
}

/** Values are early or late in a text; the middle of a longer one is skipped. */
const LOOKED_AT = 60_000;
/** The limit for searches of the whole text. Each takes 10 µs, so a schema of a thousand names takes milliseconds. */
const MAX_SEARCHES = 1_000;

const A_NAME = ['name', 'full name', 'candidate name', 'person name', 'user name', 'customer name', 'author'];
const A_PLACE = ['city', 'place', 'location', 'country', 'address'];

/** Values that are recognized by their pattern, by the names (or last words of names) they are found for. */
const KNOWN_BY_LOOK: readonly (readonly [names: readonly string[], look: RegExp])[] = [
  [['email', 'mail', 'email address'], /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}/u],
  [['linkedin', 'linkedin url'], /(?:https?:\/\/)?(?:www\.)?linkedin\.com\/[^\s)>\]"',]{1,200}/iu],
  [['github', 'github url'], /(?:https?:\/\/)?(?:www\.)?github\.com\/[^\s)>\]"',]{1,200}/iu],
  [['url', 'link', 'website', 'homepage', 'uri'], /https?:\/\/[^\s)>\]"',]{1,500}/iu],
  [['phone', 'telephone', 'mobile', 'phone number'], /\+?\(?\d{1,4}\)?(?:[ ./-]?\(?\d{2,4}\)?){2,4}/u],
  [['date', 'day', 'deadline'], /\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b/u],
  [['year'], /\b(?:19|20)\d{2}\b/u],
  [['time'], /\b\d{1,2}:\d{2}\b/u],
  [['currency'], /\b(?:EUR|USD|GBP|CHF|JPY)\b|[€$£]/u],
  [
    A_NAME,
    /(?<=\b(?:I am|I'm|[Mm]y name is|called|named|name is) )\p{Lu}[\p{L}'’-]{1,30}(?: \p{Lu}[\p{L}'’-]{1,30}){0,3}/u,
  ],
  // Two to four capitalised words on a line of their own, as at the top of a CV.
  [A_NAME, /(?<=^|\n)\p{Lu}[\p{L}'’-]{1,30}(?: \p{Lu}[\p{L}'’.-]{0,30}){1,3}(?=[ \r]*(?:\n|$|,|\())/u],
  [A_PLACE, /(?<=\b(?:[Ii]n|[Ff]rom|at|to|near) )\p{Lu}[\p{L}'’-]{1,30}(?: \p{Lu}[\p{L}'’-]{1,30}){0,2}/u],
];
const IN_SHORT = ['summary', 'overview', 'abstract', 'description', 'gist'];
const AS_ASKED = ['query', 'q', 'search', 'question', 'prompt', 'input', 'text', 'message', 'topic'];
/** Too general as the last word of a longer name: `Name: Jane` does not answer `company name`. */
const TOO_GENERAL = ['name', 'title', 'id', 'type', 'date', 'description', 'number', 'value', 'text'];

export function findValues({ text: all, lastMessage }: Conversation): FoundValues {
  const text = all.length <= LOOKED_AT ? all : `${all.slice(0, LOOKED_AT / 2)}\n${all.slice(-LOOKED_AT / 2)}`;
  const lower = text.toLowerCase();
  const { values, lists } = labelsIn(text);
  let searchesLeft = MAX_SEARCHES;

  /** `Email:` also answers `candidate_email`, because the last words name the type of value. */
  function labelled(words: readonly string[]): string | null {
    for (let start = 0; start < words.length; start += 1) {
      const label = words.slice(start).join(' ');
      if (start > 0 && TOO_GENERAL.includes(label)) break;
      const value = values.get(label);
      if (value !== undefined) return value;
    }
    return null;
  }

  function byLook(words: readonly string[]): string | null {
    const name = words.join(' ');
    const last = words.at(-1) ?? '';
    for (const [names, look] of KNOWN_BY_LOOK) {
      if (!names.includes(name) && (TOO_GENERAL.includes(last) || !names.includes(last))) continue;
      if (searchesLeft <= 0) return null;
      searchesLeft -= 1;
      const found = look.exec(text)?.[0].trim() ?? '';
      if (found !== '') return found;
    }
    if (IN_SHORT.includes(name) && text.trim() !== '') return summarise(text, 2);
    return AS_ASKED.includes(name) && lastMessage !== '' ? inShort(lastMessage, 400) : null;
  }

  function textOf(words: readonly string[]): string | null {
    const value = labelled(words) ?? byLook(words);
    if (value !== null) return value;
    const name = words.join(' ');
    const whole = /^(?:first|given|last|family) name$|^surname$/u.test(name) ? textOf(['name']) : null;
    return whole?.split(' ').at(/^(?:first|given)/u.test(name) ? 0 : -1) ?? null;
  }

  function placeOf(option: string): number {
    if (option === '' || searchesLeft <= 0) return -1;
    searchesLeft -= 1;
    return placeOfWords(lower, option.toLowerCase());
  }

  return {
    text: (name) => textOf(wordsOfName(name)),
    number(name) {
      const words = wordsOfName(name);
      const beside = words.find((word) => word.length > 2 && placeOf(word) >= 0);
      return (
        numberIn(labelled(words)) ??
        (beside === undefined ? null : numberBeside(lower, beside)) ??
        numberIn(byLook(words))
      );
    },
    boolean: (name) => booleanIn(labelled(wordsOfName(name))),
    list(name) {
      const words = wordsOfName(name);
      const below = lists.get(words.join(' '));
      if (below !== undefined) return below;
      const value = labelled(words);
      return value === null ? null : itemsOf(value.replace(/^\[|\]$/gu, '')).map(withoutQuotes);
    },
    mentioned: (options) =>
      options
        .map((option) => ({ option, place: placeOf(option) }))
        .filter(({ place }) => place >= 0)
        .sort((a, b) => a.place - b.place)
        .map(({ option }) => option),
  };
}

function numberIn(value: string | null): number | null {
  const digits = /-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d{1,15}(?:\.\d{1,10})?/u.exec(value ?? '')?.[0];
  return digits === undefined ? null : Number(digits.replaceAll(',', ''));
}

/** For `age 42`, `7 years` or `quantity of 3`: the number after the word, or else the one before it. */
function numberBeside(lower: string, word: string): number | null {
  const at = placeOfWords(lower, word);
  const after = lower.slice(at + word.length, at + word.length + 24);
  const before = lower.slice(Math.max(0, at - 24), at);
  const number = /^\s*(?:is|of|was|[:=]|about)?\s*(-?[\d,]*\d(?:\.\d+)?)/u.exec(after)?.[1];
  return numberIn(number ?? /(-?\d[\d,]*(?:\.\d+)?)\s*\+?\s*(?:\p{L}+\s+)?$/u.exec(before)?.[1] ?? null);
}

function booleanIn(value: string | null): boolean | null {
  if (value === null) return null;
  if (/^(?:yes|true|on|y|1)\b/iu.test(value)) return true;
  return /^(?:no|false|off|n|0)\b/iu.test(value) ? false : null;
}

/** The first place where the words are not part of a longer one; checks up to 100 places. */
function placeOfWords(lower: string, words: string): number {
  let at = lower.indexOf(words);
  for (let looks = 0; at >= 0 && looks < 100; looks += 1) {
    const beside = `${lower[at - 1] ?? ' '}${lower[at + words.length] ?? ' '}`;
    if (!/[\p{L}\p{N}]/u.test(beside)) return at;
    at = lower.indexOf(words, at + 1);
  }
  return -1;
}

/**
 * The labelled values of a text, by the words of their labels, such as `first name`. The first value of a label wins.
 */
interface LabelledValues {
  readonly values: ReadonlyMap<string, string>;
  /** Lists below a heading. */
  readonly lists: ReadonlyMap<string, readonly string[]>;
}

const LONGEST_LINE = 2_000;
const LABELLED =
  /^\s*(?:[-*•#]+\s*)?["'`*_]*(\p{L}[\p{L}\p{N} _-]{0,40}?)["'`*_]*\s*[:=]["'`*_]*(?!\/\/)\s*(.*?)\s*,?\s*$/u;
const HEADING = /^\s*#{1,6}\s+\S/u;
const LIST_ITEM = /^\s*(?:[-*•]|\d{1,3}[.)])\s+\S/u;
/** Reads JSON within a text, on one line or several, as a list of labels: each of its keys starts a line. */
const BEFORE_KEY = /([{,])\s*(?=["'][\p{L}_])/gu;

/** `"name": string` in a prompt describes a shape and is not a value. */
const PLACEHOLDER =
  /^[[{"'<]{0,3}(?:string|number|integer|float|boolean|bool|array|object|list|\.{3}|…)[^\p{L}\p{N}]{0,6}$|^<[^>]*>$/iu;

function labelsIn(text: string): LabelledValues {
  const values = new Map<string, string>();
  const lists = new Map<string, string[]>();
  let heading: string | null = null;
  for (const line of text.replace(BEFORE_KEY, '$1\n').split('\n')) {
    if (line.length > LONGEST_LINE) continue;
    const match = LABELLED.exec(line.replace(/[\s}]+$/u, ''));
    const label = wordsOfName(match?.[1] ?? '').join(' ');
    const value = withoutQuotes(match?.[2] ?? '');
    if (label !== '' && value !== '') {
      heading = null;
      if (!PLACEHOLDER.test(value) && !values.has(label)) values.set(label, value);
    } else if (label !== '' || HEADING.test(line)) {
      heading = label === '' ? wordsOfName(line).join(' ') : label;
    } else if (heading !== null && LIST_ITEM.test(line)) {
      const list = lists.get(heading) ?? [];
      list.push(...linesOf(line));
      lists.set(heading, list);
    } else if (line.trim() !== '') {
      heading = null;
    }
  }
  return { values, lists };
}

function withoutQuotes(value: string): string {
  return value.trim().replace(/^(["'`])(.*)\1$/u, '$2');
}
