import { listCompanies } from '../domain/accounts/company.ts';
import { isId } from '../domain/keys/api-key.ts';
import { type Command, EXIT_OK, EXIT_USAGE } from './command.ts';

const SHOWN = 1_000;

export const companiesCommand: Command = {
  name: 'companies',
  usage: '[AFTER_ID]',
  summary: `The companies with their ids, ${SHOWN.toLocaleString('en')} at a time.`,
  works: 'on-the-database',
  async run({ terminal, database }, [after, ...rest]) {
    if (rest.length > 0 || (after !== undefined && !isId(after))) {
      terminal.complain('usage: turnpike companies [AFTER_ID]');
      return EXIT_USAGE;
    }
    const companies = await listCompanies(database, { limit: SHOWN, after });
    for (const { id, billingMode, name } of companies) terminal.print(`${id} ${billingMode} ${name}`);
    if (companies.length === SHOWN) terminal.print(`more: turnpike companies ${companies.at(-1)?.id}`);
    return EXIT_OK;
  },
};
