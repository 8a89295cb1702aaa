import { describe, expect, test } from 'bun:test';
import type { CallJournal, JournalEntry } from '../../src/ports/call-journal.ts';

interface JournalUnderTest {
  readonly journal: CallJournal;
  /** Another process's, on the same data. */
  another(): Promise<CallJournal>;
  close(): Promise<void>;
}

/** Sorted as ids of calls are: by the time they were made. */
export function entry(n: number, record = `{"n":${n}}`): JournalEntry {
  return { id: `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`, record };
}

export function entries(from: number, to: number): JournalEntry[] {
  return Array.from({ length: to - from + 1 }, (_, at) => entry(from + at));
}

/** What every journal guarantees. */
export function callJournalContract(
  name: string,
  open: (maxEntries: number) => Promise<JournalUnderTest>,
): void {
  async function given<T>(work: (under: JournalUnderTest) => Promise<T>, maxEntries = 100): Promise<void> {
    const under = await open(maxEntries);
    try {
      await work(under);
    } finally {
      await under.close();
    }
  }

  describe(`G-33 the journal ${name}`, () => {
    test('returns the written entries, oldest first; removed ones are gone', () =>
      given(async ({ journal }) => {
        expect(journal.waiting()).toBe(0);
        expect(await journal.oldest(10)).toEqual([]);
        expect(await journal.append([entry(3), entry(1)])).toEqual({ outcome: 'written' });
        expect(await journal.append([entry(2)])).toEqual({ outcome: 'written' });
        expect([...(await journal.oldest(2))]).toEqual([entry(1), entry(2)]);
        await journal.remove([entry(1).id, entry(3).id, entry(9).id]);
        expect([...(await journal.oldest(10))]).toEqual([entry(2)]);
        expect(journal.waiting()).toBe(1);
      }));

    test('stores one of two entries with the same id', () =>
      given(async ({ journal }) => {
        await journal.append([entry(1), entry(1)]);
        await journal.append([entry(1)]);
        expect(journal.waiting()).toBe(1);
        expect(await journal.oldest(10)).toHaveLength(1);
      }));

    test('has capacity up to nine tenths, accepts running calls up to its bound, and a group completely or not at all', () =>
      given(async ({ journal }) => {
        await journal.append(entries(1, 89));
        expect(journal.hasRoom()).toBe(true);
        await journal.append([entry(90)]);
        expect(journal.hasRoom()).toBe(false);
        expect(await journal.append(entries(91, 101))).toMatchObject({ outcome: 'not-written' });
        expect(journal.waiting()).toBe(90);
        expect(await journal.append(entries(91, 100))).toEqual({ outcome: 'written' });
        await journal.remove(entries(1, 50).map(({ id }) => id));
        expect(journal.hasRoom()).toBe(true);
      }));

    test('an entry set aside is stored and no longer waiting', () =>
      given(async ({ journal }) => {
        await journal.append(entries(1, 3));
        await journal.setAside(entry(2).id, 'a reason');
        await journal.setAside(entry(9).id, 'there is none');
        expect([...(await journal.oldest(10))]).toEqual([entry(1), entry(3)]);
        expect([journal.waiting(), journal.setAsideCount()]).toEqual([2, 1]);
      }));

    test('the entries of a living process are its own; those it leaves are taken over by one other', () =>
      given(async ({ journal, another }) => {
        await journal.append(entries(1, 3));
        const [second, third] = await Promise.all([another(), another()]);
        expect(await second.takeOver()).toBeNull();
        expect(await journal.takeOver()).toBeNull();
        await journal.close();
        const taken = await second.takeOver();
        expect(await third.takeOver()).toBeNull();
        expect(await second.takeOver()).toBeNull();
        expect([...((await taken?.oldest(10)) ?? [])]).toEqual(entries(1, 3));
        // Given back with something left in it, anyone may have it; emptied, it is gone.
        await taken?.remove([entry(1).id]);
        await taken?.close();
        const again = await third.takeOver();
        expect(again?.waiting()).toBe(2);
        await again?.remove(entries(1, 3).map(({ id }) => id));
        await again?.close();
        expect(await second.takeOver()).toBeNull();
        await Promise.all([second.close(), third.close()]);
      }));

    test('entries set aside are waiting again in the next process that takes over, which tries them once', () =>
      given(async ({ journal, another }) => {
        await journal.append([entry(1)]);
        await journal.setAside(entry(1).id, 'a reason');
        await journal.close();
        const second = await another();
        const taken = await second.takeOver();
        expect(taken?.waiting()).toBe(1);
        await taken?.setAside(entry(1).id, 'again');
        await taken?.close();
        expect(await second.takeOver()).toBeNull();
        const third = await another();
        expect((await third.takeOver())?.waiting()).toBe(1);
        await second.close();
      }));
  });
}
