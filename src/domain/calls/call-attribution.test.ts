import { describe, expect, test } from 'bun:test';
import { boundedEndUser, boundedTags, readTagsHeader } from './call-attribution.ts';

describe('tags', () => {
  test('of a header are separated by commas, trimmed, and empty ones left out', () => {
    expect(readTagsHeader(' env:prod ,team-a,, ')).toEqual({ outcome: 'read', tags: ['env:prod', 'team-a'] });
    expect(readTagsHeader(',,,'.repeat(1_000))).toEqual({ outcome: 'read', tags: [] });
  });

  test('of a header beyond their bounds are refused with advice', () => {
    expect(readTagsHeader(Array.from({ length: 9 }, (_, at) => `t${at}`).join())).toEqual({
      outcome: 'refused',
      message: 'The header x-turnpike-tags has more than 8 tags. Send at most 8.',
    });
    expect(readTagsHeader('x'.repeat(65))).toMatchObject({ outcome: 'refused' });
    expect(readTagsHeader('x'.repeat(64))).toMatchObject({ outcome: 'read' });
  });

  test('are stored sorted, each once, the first eight of them, cut to their bound', () => {
    expect(boundedTags(['b', 'a', 'b', ' a '])).toEqual(['a', 'b']);
    expect(boundedTags(Array.from({ length: 20 }, (_, at) => `t${at}`))).toHaveLength(8);
    expect(boundedTags(['x'.repeat(100)])).toEqual(['x'.repeat(64)]);
    expect(boundedTags(['', ' '])).toBeUndefined();
  });
});

test('characters that PostgreSQL cannot store as text do not make the row of a call fail', () => {
  expect(boundedEndUser('a\u0000b\nc\u0085')).toBe('a b c');
  expect(boundedEndUser('\ud83d')).toBe('\ufffd');
  // Cut in the middle of a pair.
  expect(boundedEndUser(`${'x'.repeat(127)}😀`)).toBe(`${'x'.repeat(127)}\ufffd`);
  expect(boundedEndUser('\u0000')).toBeUndefined();
  expect(boundedTags(['\u0000a\ud800'])).toEqual(['a\ufffd']);
});
