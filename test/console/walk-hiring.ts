/** Every form of the hiring pages, clicked once: what is sent, what is asked first, what is left as it was. */
import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { CV } from './filled-company.ts';
import { appears, moveTo } from './page-checks.ts';
import { confirmsBeforeBack } from './walk-traps.ts';

const cvOf = (name: string, place: string) =>
  CV.replace('Grace Miller', name).replace('grace.miller', place).replace('0958', place);
const POSTING = `Forklift driver (m/f/d)
Location: Hamburg
We are looking for a forklift driver for our warehouse.
Requirements:
- Forklift licence
- Two years of experience`;

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const inDialog = (page: Page, name: string) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true });
const heading = (page: Page, name: string | RegExp) =>
  page.getByRole('heading', { level: 1, name }).waitFor();
const card = (page: Page, name: string) => page.getByRole('region', { name, exact: true }).first();

/** Added, edited, closed and opened again; another one pasted and published. */
export async function walkJobs(page: Page): Promise<void> {
  await moveTo(page, '/jobs');
  await page.getByLabel('Title').fill('Welder');
  await page.getByLabel('Description').fill('Welding of pipes by TIG in our workshop.');
  await page.getByLabel('Must have, one per line').fill('TIG welding\nlicence to travel');
  await page.getByLabel('Months of experience').fill('12');
  await button(page, 'Add the job').click();
  await page.getByRole('link', { name: 'Welder', exact: true }).click();
  await heading(page, 'Welder');
  await page.getByRole('link', { name: 'Edit', exact: true }).click();
  await page.getByLabel('Title').fill('Welder (TIG)');
  await page.getByLabel('Must have, one per line').fill('TIG welding');
  await page.getByLabel('Place').fill('Leeds');
  await button(page, 'Save').click();
  await heading(page, 'Welder (TIG)');
  await card(page, 'History').getByText('3 values').waitFor();
  await button(page, 'Close').click();
  await inDialog(page, 'Close').click();
  await page.getByText('Closed', { exact: true }).first().waitFor();
  await button(page, 'Open again').click();
  await inDialog(page, 'Open again').click();
  await page.getByText('Active', { exact: true }).waitFor();

  await page.getByRole('link', { name: '← Jobs' }).click();
  await page.getByLabel('Text of the advertisement').fill(POSTING);
  await button(page, 'Read the advertisement').click();
  await page.getByRole('link', { name: /forklift driver/i }).click();
  await button(page, 'Publish').click();
  await inDialog(page, 'Publish').click();
  await page.getByText('Active', { exact: true }).waitFor();
}

/** A second CV of a person whose profile was edited: part of what it proposes is taken over. */
async function decideProposal(page: Page): Promise<void> {
  await moveTo(page, '/talents');
  await page.getByLabel('Text of the CV').fill(CV.replace('Senior Welder', 'Chief Welder'));
  await button(page, 'Read the CV').click();
  await page.getByText('A newer CV proposes changes').waitFor();
  await page.getByRole('link', { name: 'Grace Miller' }).last().click();
  const proposal = card(page, 'A newer CV proposes changes');
  await proposal.getByLabel(/^Skills/).uncheck();
  await button(page, 'Accept what is marked').click();
  await proposal.waitFor({ state: 'detached' });
  await card(page, 'Work').getByText('Chief Welder').waitFor();
  await card(page, 'Skills').getByText('Orbital welding').waitFor();
}

/** Uploaded, read, shown with the places of its values, edited. */
export async function walkTalents(page: Page): Promise<void> {
  await moveTo(page, '/talents');
  const dropped = await page.evaluateHandle((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], 'grace.txt', { type: 'text/plain' }));
    return transfer;
  }, CV);
  await page.dispatchEvent('.drop', 'drop', { dataTransfer: dropped });
  await page.getByText('Sent. It is being read.').waitFor();
  await page.getByRole('link', { name: 'Grace Miller' }).click();
  await heading(page, 'Grace Miller');
  await button(page, 'Senior Welder').click();
  const chosen = page.locator('mark[data-chosen=true]');
  expect(await chosen.innerText()).toBe('Senior Welder');

  await page.getByRole('link', { name: 'Edit', exact: true }).click();
  await page.getByLabel('Headline').fill('Welder with papers');
  await button(page, 'Add a language').click();
  await page.getByLabel('Language', { exact: true }).first().fill('Welsh');
  await page.getByLabel('Level').first().fill('fluent');
  await page.getByLabel('Skills, one per line').fill('TIG welding\nOrbital welding');
  await button(page, 'Add a position').click();
  await card(page, 'Work').getByRole('button', { name: 'Remove this entry' }).click();
  await button(page, 'Save').click();
  await page.getByText('Welder with papers').first().waitFor();
  await card(page, 'Languages').getByText('Welsh').waitFor();
  // Fields that were not edited still link to their place in the text; edited ones do not.
  expect(await button(page, 'grace.miller@example.org').count()).toBe(1);
  expect(await button(page, 'Orbital welding').count()).toBe(0);
  await decideProposal(page);

  await moveTo(page, '/talents');
  await page.getByLabel('Text of the CV').fill(cvOf('Paula Smith', '0111'));
  await button(page, 'Read the CV').click();
  await page.getByRole('link', { name: 'Paula Smith' }).click();
  const download = page.waitForEvent('download');
  await button(page, 'Export').click();
  expect((await download).suggestedFilename()).toMatch(/^talent-.*\.json$/);
  await button(page, 'Erase').click();
  await inDialog(page, 'Erase').click();
  await heading(page, 'Talents');
  expect(await page.getByRole('link', { name: 'Paula Smith' }).count()).toBe(0);
}

/** Seen by itself as soon as it is scored, with its reasons; and what counts. */
export async function walkMatches(page: Page): Promise<void> {
  await moveTo(page, '/matches');
  const row = page.getByRole('row').filter({ hasText: 'Grace Miller' }).filter({ hasText: 'Welder (TIG)' });
  await row.getByRole('button', { name: 'Reasons' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('The talent fits the job').waitFor();
  await dialog.getByRole('cell', { name: 'Skills' }).waitFor();
  await inDialog(page, 'Close').click();
  await page.getByLabel('Titles').fill('101');
  await button(page, 'Save the weights').click();
  expect(await page.getByText('Saved. The matches').count()).toBe(0);
  await page.getByLabel('Titles').fill('25');
  await button(page, 'Save the weights').click();
  await page.getByText('Saved. The matches are being scored again.').waitFor();
}

/** An interview is announced and talked about; its page is one to be read. */
export async function walkMeetings(page: Page): Promise<void> {
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16);
  await moveTo(page, '/meetings');
  await page.getByRole('textbox', { name: 'Room' }).fill('Forge');
  await page.getByLabel('Starts').fill(tomorrow);
  await page.getByLabel('Minutes').fill('45');
  await confirmsBeforeBack(page, 'not saved');
  await page.getByRole('combobox', { name: 'Job' }).selectOption({ label: 'Welder (TIG)' });
  await page.getByRole('combobox', { name: 'Talent' }).selectOption({ label: 'Grace Miller' });
  await button(page, 'Announce').click();
  await page.getByRole('link', { name: 'forge' }).click();
  await heading(page, 'Room forge');
  await page.getByRole('link', { name: 'Grace Miller' }).waitFor();
  await page
    .getByRole('textbox', { name: 'Text' })
    .fill('Ada: We decided to offer you a trial day.\nGrace: Thank you, when can I come?');
  await button(page, 'Add').click();
  await card(page, 'What was said').getByText('Ada: We decided to offer you a trial day.').first().waitFor();
  await passOnSummary(page);
}

/** The summary is saved and mailed; the links are changed; notes from a file replace the transcript and are deleted. */
async function passOnSummary(page: Page): Promise<void> {
  const saving = page.waitForEvent('download');
  await button(page, 'Save as Markdown').click();
  const saved = await saving;
  expect(saved.suggestedFilename()).toBe('forge.md');
  await card(page, 'Share the summary').getByRole('checkbox').first().check();
  const mailed = page.waitForResponse((response) =>
    (response.request().postData() ?? '').includes('mailMeetingSummary'),
  );
  await button(page, 'Send by mail').click();
  expect(await (await mailed).json()).toEqual({ data: { mailMeetingSummary: 1 } });
  await page.getByRole('combobox', { name: 'What it is' }).selectOption('NOTES');
  const notes = {
    name: 'notes.md',
    mimeType: 'text/markdown',
    buffer: Buffer.from('Next steps:\n- Order gloves\n'),
  };
  await page.getByLabel('From a file').setInputFiles(notes);
  await button(page, 'Add').click();
  await appears(page, card(page, 'What was said').getByText('Order gloves'));
  await button(page, 'Delete the text').click();
  await inDialog(page, 'Delete the text').click();
  await card(page, 'What was said').waitFor({ state: 'detached' });
}
