import { expect, test } from 'bun:test';
import { utterancesOf } from './transcript.ts';
import { summariseNotes } from './transcript-summary.ts';

const texts = (statementsOf: readonly { readonly text: string }[]) => statementsOf.map(({ text }) => text);

test('notes with headings are sorted by them, in any order and with any marks', () => {
  const summary = summariseNotes(`# Interview with Grace
She led two teams at Northwind and knows the industry well.

Decisions:
- Invite her to a trial day
* Offer 52k

## Open questions
1. Notice period
2. When can she start?

Next steps: Ada sends the contract
- [ ] Tom checks the references
`);
  expect(summary.engine).toBe('embedded');
  expect(texts(summary.decisions)).toEqual(['Invite her to a trial day', 'Offer 52k']);
  expect(texts(summary.questions)).toEqual(['Notice period', 'When can she start?']);
  expect(texts(summary.actionItems)).toEqual(['Ada sends the contract', 'Tom checks the references']);
  expect(summary.summary.join(' ')).toContain('She led two teams');
});

test('notes without headings are sorted by their words, one point per line, and no word is added', () => {
  const notes =
    'good talk about the roof project\nwe agreed to go on\nAda will send the plan by Friday\nwho pays the travel?';
  const summary = summariseNotes(notes);
  expect(texts(summary.decisions)).toEqual(['we agreed to go on']);
  expect(texts(summary.actionItems)).toEqual(['Ada will send the plan by Friday']);
  expect(texts(summary.questions)).toEqual(['who pays the travel?']);
  const all = [...summary.summary, ...texts(summary.decisions), ...texts(summary.actionItems)];
  for (const line of all) expect(notes).toContain(line);
});

test('a sentence that is too long is not cut through the middle of a character', () => {
  const [point] = summariseNotes(`Decisions:\n- ${'a'.repeat(599)}😀 and more`).decisions;
  expect(point?.text).toBe('a'.repeat(599));
});

test('German notes, and nothing at all', () => {
  const summary = summariseNotes(
    'Beschlüsse:\n- Probetag am Montag\nNächste Schritte:\n- Vertrag schicken\nOffene Fragen:\n- Gehalt',
  );
  expect([summary.decisions, summary.actionItems, summary.questions].map(texts)).toEqual([
    ['Probetag am Montag'],
    ['Vertrag schicken'],
    ['Gehalt'],
  ]);
  expect(summariseNotes('  \n ')).toMatchObject({ summary: [], decisions: [] });
});

test('notes are read up to the same number of lines as a transcript', () => {
  const lines = (count: number) => `${'a\n'.repeat(count)}We decided to hire Grace.`;
  expect(summariseNotes(lines(19_999)).decisions).toHaveLength(1);
  expect(summariseNotes(lines(20_000)).decisions).toEqual([]);
});

test('A-7 a transcript as meeting programs write it has what was said, and no header, note or name of a cue', () => {
  const cue = (name: string, from: string, said: string) =>
    `${name}\n00:00:${from}.128 --> 00:00:59.568\n${said}\n`;
  const teams = [
    'WEBVTT\nKind: captions\n',
    'NOTE recorded by the server\nover two lines\n',
    cue('7c4b8e6e-9f5f-4b2c-8b86-0d8c4f1d5b3e/23-0', '03', '<v Ada Byron>Welcome everyone.</v>'),
    cue('7c4b8e6e-9f5f-4b2c-8b86-0d8c4f1d5b3e/24-0', '05', 'NOTE what we agreed.'),
  ].join('\n');
  const said = [{ speaker: 'Ada Byron', text: 'Welcome everyone. NOTE what we agreed.' }];
  expect(utterancesOf(teams)).toEqual(said);
  expect(utterancesOf(teams.replaceAll('\n', '\r\n'))).toEqual(said);
  expect(utterancesOf('WEBVTT\n00:03.128 --> 00:05.568\nWelcome everyone.')).toHaveLength(1);
  const plain = 'NOTE: written by a program\nAda: Welcome.\nTom: We agreed on May.';
  expect(utterancesOf(plain).map(({ text }) => text)).toEqual([
    ...['written by a program', 'Welcome.', 'We agreed on May.'],
  ]);
});
