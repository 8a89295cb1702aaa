import { statementLines } from '../../../domain/credits/statement.ts';
import { member } from '../access.ts';
import { badInput } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

/** Some two million characters: what a browser saves as a file without ado. */
const MOST_LINES = 20_000;

export const creditStatement: Declaration = (builder) =>
  builder.queryField('creditStatement', (t) =>
    t.string({
      description:
        'The company’s credit transactions as CSV, with the opening and the closing balance: from `from`, before `to`.',
      authScopes: { companyAdmin: true },
      args: {
        from: t.arg({ type: 'DateTime', required: true }),
        to: t.arg({ type: 'DateTime', required: true }),
      },
      async resolve(_root, { from, to }, context) {
        const { companyId } = await member(context);
        if (from >= to) throw badInput('to', 'it must lie after from');
        const lines: string[] = [];
        for await (const line of statementLines(context.parts.database, { accountId: companyId, from, to })) {
          if (lines.length === MOST_LINES) {
            throw badInput('from', `the period has more than ${MOST_LINES} lines: ask for a shorter one`);
          }
          lines.push(line);
        }
        return `${lines.join('\r\n')}\r\n`;
      },
    }),
  );
