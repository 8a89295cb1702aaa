import { afterEach, describe, expect, test } from 'bun:test';
import { CV_TEXT } from '../../../test/ai-service/workers-under-test.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { createSystemClock } from '../../adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { openEngine } from './open-models.ts';

const closings: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0)) await close();
});

function open() {
  const whenClosing = (_name: string, close: () => void | Promise<void>) => void closings.push(close);
  return openEngine({
    clock: createSystemClock(),
    secrets: createSystemSecrets(),
    log: createSilentLog(),
    whenClosing,
  });
}

describe('the engine in its thread', () => {
  test('G-7 reads in order, many at once, and checks answers against the text', async () => {
    const engine = open();
    const kinds = await Promise.all([
      engine.read('cv', CV_TEXT, 'a'),
      engine.read('cv', 'Lunch is at noon.', 'a'),
      engine.read('jd', CV_TEXT, 'b'),
    ]);
    expect(kinds.map(({ document, value }) => [document.kind, value === null])).toEqual([
      ['cv', false],
      ['other', true],
      ['cv', true],
    ]);
    expect(await engine.check('cv', CV_TEXT, 'prose', 'a')).toMatchObject({ outcome: 'wrong' });
    expect(engine.question('cv', CV_TEXT).messages.length).toBe(2);
  });

  test('G-7 a long document does not block this thread', async () => {
    const engine = open();
    await engine.read('cv', 'warm', 'a');
    const long = CV_TEXT.repeat(20).slice(0, 8_000);
    let turns = 0;
    let isOver = false;
    const reading = Promise.resolve(engine.read('cv', long, 'a')).then(() => {
      isOver = true;
    });
    while (!isOver) {
      turns += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await reading;
    expect(turns).toBeGreaterThan(20);
  });
});
