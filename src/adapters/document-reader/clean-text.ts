/**
 * What may stand in a text that goes into records, prompts and databases. Left out: control characters, marks that
 * change the direction or that nobody sees (they hide words from people and show them to programs), halves of
 * characters. Kept apart from how the text was found, so that all kinds of documents come out alike.
 */

// Written as escapes: as characters they would be invisible here too.
const LINE_ENDS = /\r\n?|[\u0085\u2028\u2029\v\f]/g;
/**
 * Controls but tab and line feed, format marks but the two joiners that scripts need, private use, which has no
 * meaning outside of its font (the bullets among it are mended first), and the sign for what was no character.
 */
const UNSEEN = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Variation_Selector}\ufffd]/gu;
const FONT_BULLETS = /[\uf0a7\uf0b7\uf076\uf0d8\uf0fc\u25cf\u25aa\u25a0\u2023\u2043]/g;
const LIGATURES = /[\ufb00-\ufb06]/g;
const SPACES = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g;

/** A shorter indent is for looks; a longer one may be an empty cell of the column before it. */
const COLUMN_INDENT = 8;

/**
 * `keepsGaps` for plain text: there the blanks between words are all that tells two columns, or lines whose ends were
 * lost, from running text. Other kinds say by themselves what stands apart.
 */
export function cleanText(text: string, { keepsGaps }: { readonly keepsGaps: boolean }): string {
  const clean = text
    .toWellFormed()
    .replace(LINE_ENDS, '\n')
    .replace(FONT_BULLETS, '\u2022')
    .replace(LIGATURES, (ligature) => ligature.normalize('NFKC'))
    .replace(UNSEEN, '')
    .replace(SPACES, ' ')
    .normalize('NFC')
    .replace(/ *\t[\t ]*/g, '\t')
    .replace(/[ \t]+$/gm, '');
  const spaced = keepsGaps
    ? clean.replace(/^ +/gm, (indent) => (indent.length < COLUMN_INDENT ? '' : indent))
    : clean.replace(/ {2,}/g, ' ').replace(/^ +/gm, '');
  return spaced.replace(/\n{3,}/g, '\n\n').trim();
}
