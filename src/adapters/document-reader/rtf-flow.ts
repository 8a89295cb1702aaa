import { createPage, writeLines, writeNotes } from './html-text.ts';

/** What RTF says of the paragraph that it writes. */
export interface ParagraphProperties {
  /** 1 to 6; 0 for none. */
  readonly heading: number;
  readonly isItem: boolean;
  readonly isInTable: boolean;
}

export type RtfFlow = ReturnType<typeof createRtfFlow>;

/**
 * One text of an RTF document: its body, a header, a footnote, a text box. RTF only says where paragraphs, cells and rows
 * end, so what is around a paragraph is opened with its first word.
 */
export function createRtfFlow(maxCharacters: number) {
  const page = createPage(maxCharacters, { paragraphsAreLines: true });
  const boxes: string[] = [];
  /** The paragraph that is open. */
  let tag: string | null = null;
  let [hasTable, hasRow, hasCell, hasList] = [false, false, false, false];
  /** Since the definition of a row, until its end. */
  let expectsRow = false;
  /** Whether the paragraph has a bullet or number of its own. */
  let isMarked = false;

  function openCell(): void {
    if (!hasTable) page.open('table');
    if (!hasRow) page.open('tr');
    if (!hasCell) page.open('td');
    [hasTable, hasRow, hasCell] = [true, true, true];
  }

  function begin({ heading, isItem, isInTable }: ParagraphProperties): void {
    if (tag !== null) return;
    const isCell = isInTable || expectsRow;
    if (isCell !== hasTable) endList();
    if (isCell) openCell();
    else endTable();
    if (heading > 0) tag = `h${heading}`;
    else tag = isItem || isMarked ? 'li' : 'p';
    if (tag !== 'li') endList();
    else if (!hasList) {
      page.open('ul');
      hasList = true;
    }
    page.open(tag);
  }

  function end(): void {
    if (tag !== null) page.close(tag);
    [tag, isMarked] = [null, false];
    for (const text of boxes.splice(0)) writeLines(page, text);
  }

  function endList(): void {
    if (hasList) page.close('ul');
    hasList = false;
  }

  function endCell(): void {
    end();
    endList();
    openCell();
    page.close('td');
    hasCell = false;
  }

  function endRow(): void {
    if (hasCell) endCell();
    else end();
    if (hasRow) page.close('tr');
    [hasRow, expectsRow] = [false, false];
  }

  function endTable(): void {
    if (!hasTable) return;
    endRow();
    page.close('table');
    hasTable = false;
  }

  return {
    write(text: string, properties: ParagraphProperties): void {
      begin(properties);
      page.write(text, false);
    },
    breakLine(properties: ParagraphProperties): void {
      begin(properties);
      page.open('br');
    },
    endParagraph(properties: ParagraphProperties): void {
      begin(properties);
      end();
    },
    mark(): void {
      isMarked = true;
    },
    expectRow(): void {
      expectsRow = true;
    },
    endCell,
    endRow,
    /** Cells of a table inside of a cell are on one line. */
    endInnerCell(): void {
      if (tag !== null) page.write('\t', false);
    },
    endInnerRow: end,
    /** Written after the paragraph that it is anchored to. */
    addBox(text: string): void {
      boxes.push(text);
    },
    finish(notes: readonly string[] = []): string {
      end();
      endList();
      endTable();
      if (notes.length > 0) writeNotes(page, notes);
      return page.text().trim();
    },
    isFull: page.isFull,
  };
}
