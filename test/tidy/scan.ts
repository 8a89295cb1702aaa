/**
 * A source text twice, both of the original's length, so that places and lines agree: `code` without
 * comments, and `bare` without the content of strings, templates and regular expressions either.
 */
interface Scanned {
  readonly code: string;
  readonly bare: string;
}

const scans = new Map<string, Scanned>();

/** Every rule looks at every file, so a text is scanned once. */
export function scan(text: string): Scanned {
  const known = scans.get(text);
  if (known !== undefined) return known;
  const scanned = scanAnew(text);
  scans.set(text, scanned);
  return scanned;
}

/**
 * Good enough for code that Biome has formatted; no parser. An apostrophe in JSX text hides the rest of its
 * line and no more, because a string ends with its line.
 */
function scanAnew(text: string): Scanned {
  const code = text.split('');
  const bare = text.split('');
  /** For each template around this place, how many braces are open inside its `${`. */
  const templates: number[] = [];
  let place = 0;

  const hide = (characters: string[], from: number, to: number) => {
    for (let at = from; at < to; at++) if (characters[at] !== '\n') characters[at] = ' ';
  };
  const passTemplate = () => {
    const end = endOfTemplatePart(text, place);
    hide(bare, place, end);
    place = end + (text[end] === '`' ? 1 : 2);
    if (text[end] === '$') templates.push(0);
  };

  while (place < text.length) {
    const character = text[place] ?? '';
    const quotedEnd = endOfQuoted(text, place);
    const commentEnd = endOfComment(text, place);
    if (commentEnd !== null) {
      hide(code, place, commentEnd);
      hide(bare, place, commentEnd);
      place = commentEnd;
    } else if (quotedEnd !== null) {
      hide(bare, place + 1, quotedEnd - 1);
      place = quotedEnd;
    } else if (character === '`') {
      place++;
      passTemplate();
    } else if (character === '}' && templates.at(-1) === 0) {
      templates.pop();
      place++;
      passTemplate();
    } else {
      const open = templates.pop();
      if (open !== undefined) templates.push(open + (character === '{' ? 1 : character === '}' ? -1 : 0));
      place++;
    }
  }
  return { code: code.join(''), bare: bare.join('') };
}

function endOfComment(text: string, place: number): number | null {
  if (text.startsWith('//', place)) {
    const end = text.indexOf('\n', place);
    return end === -1 ? text.length : end;
  }
  if (text.startsWith('/*', place)) {
    const end = text.indexOf('*/', place + 2);
    return end === -1 ? text.length : end + 2;
  }
  return place === 0 && text.startsWith('#!') ? text.indexOf('\n') : null;
}

const quotedForms: Record<string, RegExp> = {
  "'": /'(?:[^'\\\n]|\\[\s\S])*'/y,
  '"': /"(?:[^"\\\n]|\\[\s\S])*"/y,
  '/': /\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//y,
};

/** The end of the string or regular expression that begins here. */
function endOfQuoted(text: string, place: number): number | null {
  const form = quotedForms[text[place] ?? ''];
  if (form === undefined || (text[place] === '/' && !mayBeginRegularExpression(text, place))) return null;
  form.lastIndex = place;
  return form.test(text) ? form.lastIndex : null;
}

/** After a value, a slash divides; after an operator, a bracket or some words, it cannot. */
function mayBeginRegularExpression(text: string, place: number): boolean {
  const before = text.slice(Math.max(0, place - 40), place).trimEnd();
  return /(?:^|[(,=:[!&|?{;+\-*%~^>]|\b(?:return|typeof|case|in|of|await|yield|void|else|do))$/.test(before);
}

/** The next place where the template ends or a `${` begins. */
function endOfTemplatePart(text: string, from: number): number {
  for (let place = from; place < text.length; place++) {
    if (text[place] === '\\') place++;
    else if (text[place] === '`' || text.startsWith('${', place)) return place;
  }
  return text.length;
}
