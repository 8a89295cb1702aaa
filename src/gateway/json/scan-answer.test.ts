import { describe, expect, test } from 'bun:test';
import { createAnswerFields, scanAnswer } from './scan-answer.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);

function scan(text: string) {
  const fields = createAnswerFields();
  const bytes = bytesOf(text);
  scanAnswer(bytes, 0, bytes.length, fields);
  return fields;
}

test('the fields keep nothing of the previous answer', () => {
  const fields = createAnswerFields();
  const full = bytesOf('{"model":"a","usage":{"a":1},"error":1,"choices":[{"content":"abc","usage":1}]}');
  scanAnswer(full, 0, full.length, fields);
  expect(fields).toMatchObject({ isWhole: true, hasInnerUsage: true, contentBytes: 3 });
  expect([fields.usageEnd, fields.errorEnd, fields.toRestamp.length]).not.toContain(0);
  scanAnswer(bytesOf('x'), 0, 1, fields);
  expect(fields).toEqual(createAnswerFields());
});

test('only the bytes from start to end are read', () => {
  const fields = createAnswerFields();
  const around = '{"model":"a","choices":[{"content":"b';
  const between = '{"choices":[{"content":"this is not ended, and longer than a name';
  const bytes = bytesOf(`${around}\n${between}\n"}],"model":"c"}`);
  const start = around.length + 1;
  scanAnswer(bytes, start, start + between.length, fields);
  expect(fields).toEqual(createAnswerFields());
  scanAnswer(bytesOf(`{}\n{"model":"a"}`), 0, 2, fields);
  expect(fields).toEqual({ ...createAnswerFields(), isWhole: true });
});

test('a text ends at its own quote, for any length and any position of backslashes', () => {
  for (let length = 0; length < 60; length += 1) {
    for (const escapes of ['', '\\\\', '\\"', '\\\\\\"', '\\\\\\\\', '\\u0022', '\\"\\\\']) {
      const text = `{"choices":[{"text":"${'x'.repeat(length)}${escapes}"}],"model":"a"}`;
      const fields = scan(text);
      const model = text.lastIndexOf('"a"');
      expect({ text, ...fields }).toMatchObject({
        text,
        isWhole: true,
        toRestamp: [model, model + 3],
        contentBytes: length + escapes.length,
      });
    }
  }
});

describe('text written by the model', () => {
  test.each([
    ['{"choices":[{"delta":{"content":"four"}}]}', 4],
    ['{"choices":[{"text":"four"}]}', 4],
    ['{"choices":[{"delta":{"refusal":"four"}}]}', 4],
    ['{"choices":[{"delta":{"reasoning":"four"}}]}', 4],
    ['{"choices":[{"delta":{"reasoning_content":"four"}}]}', 4],
    ['{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"four"}}]}}]}', 4],
    ['{"choices":[{"delta":{"content":"four","reasoning":"four"}},{"delta":{"content":"ü"}}]}', 10],
    ['{"choices":[{"delta":{"content":null,"role":"assistant"},"finish_reason":"content"}]}', 0],
    ['{"choices":[{"delta":{"contents":"a","test":"b"}}]}', 0],
  ])('%s', (text, contentBytes) => {
    expect(scan(text).contentBytes).toBe(contentBytes);
  });
});

test('numbers in any form are skipped', () => {
  const text = '{"data":[[-1.5e-7,2E+3,0.25 ,\t1],[],[true,null,{"a":[1,"]"]}]],"model":"a"}';
  const model = text.lastIndexOf('"a"');
  expect(scan(text)).toMatchObject({ isWhole: true, toRestamp: [model, model + 3] });
});
