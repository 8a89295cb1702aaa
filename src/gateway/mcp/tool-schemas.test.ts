import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createGatewayTools } from './gateway-tools.ts';

const KEYWORDS = ['type', 'anyOf', 'enum'];

/** Every value at a position where a schema is allowed, with its path. */
function schemasIn(schema: Record<string, unknown>, place: string): [string, Record<string, unknown>][] {
  const { properties, items, anyOf } = schema as Record<string, Record<string, unknown>>;
  const within = [...Object.entries(properties ?? {}), ...Object.entries(anyOf ?? {})];
  if (items !== undefined) within.push(['items', items]);
  const deeper = within.flatMap(([name, one]) =>
    schemasIn(one as Record<string, unknown>, `${place}.${name}`),
  );
  return [[place, schema], ...deeper];
}

test('G-43 every schema of a tool has one type, so that clients can translate it for any model', () => {
  const amiss: string[] = [];
  for (const { definition } of createGatewayTools({ clock: createManualClock() })) {
    for (const side of ['inputSchema', 'outputSchema'] as const) {
      for (const [place, schema] of schemasIn({ ...definition[side] }, `${definition.name} ${side}`)) {
        const isOpen = !KEYWORDS.some((keyword) => keyword in schema);
        if (isOpen || Array.isArray(schema.type)) amiss.push(place);
      }
    }
  }
  expect(amiss).toEqual([]);
});
