import { listCompanies } from '../domain/accounts/company.ts';
import { addUser, findUserByEmail } from '../domain/accounts/user.ts';
import { isId } from '../domain/keys/api-key.ts';
import { type Command, complainOfUsage, EXIT_FAILED, EXIT_OK } from './command.ts';

const COMPANIES_SHOWN = 1_000;

export const companiesCommand: Command = {
  name: 'companies',
  usage: '[AFTER_ID]',
  summary: `The companies with their ids, ${COMPANIES_SHOWN.toLocaleString('en')} at a time.`,
  works: 'on-the-database',
  async run({ terminal, database }, [after, ...rest]) {
    if (rest.length > 0 || (after !== undefined && !isId(after))) {
      return complainOfUsage(terminal, companiesCommand);
    }
    const companies = await listCompanies(database, { limit: COMPANIES_SHOWN, after });
    for (const { id, billingMode, name } of companies) terminal.print(`${id} ${billingMode} ${name}`);
    if (companies.length === COMPANIES_SHOWN)
      terminal.print(`more: turnpike companies ${companies.at(-1)?.id}`);
    return EXIT_OK;
  },
};

const PASSWORD_BYTES = 18;

/** In production there is no demo world: this makes the first person who can log in. */
export const createSuperAdmin: Command = {
  name: 'create-super-admin',
  usage: 'EMAIL',
  summary: 'Makes a super admin and prints the password, once.',
  works: 'on-the-database',
  async run({ terminal, database, secrets }, [email, ...rest]) {
    if (email === undefined || rest.length > 0) {
      return complainOfUsage(terminal, createSuperAdmin);
    }
    const password = secrets.randomBytes(PASSWORD_BYTES).toBase64({ alphabet: 'base64url' });
    const account = { companyId: null, role: 'MEMBER', isSuperAdmin: true } as const;
    const added = await addUser(database, secrets, { ...account, id: secrets.newId(), email, password });
    switch (added.outcome) {
      case 'added':
        terminal.print(`${email} is a super admin; the password, shown only now: ${password}`);
        return EXIT_OK;
      case 'email-taken':
        terminal.complain(`${email} has an account already`);
        return EXIT_FAILED;
      case 'bad-email':
        terminal.complain(`${email} is not an e-mail address`);
        return EXIT_FAILED;
      case 'bad-password':
        terminal.complain(added.message);
        return EXIT_FAILED;
    }
  },
};

/** For scripts and smoke tests: whoever can read the database and the signing secret is that person anyway. */
export const issueToken: Command = {
  name: 'issue-token',
  usage: 'EMAIL',
  summary: 'Prints an access token of that person, good for some minutes.',
  works: 'on-the-database',
  async run({ terminal, database, accessTokens }, [email, ...rest]) {
    if (email === undefined || rest.length > 0) {
      return complainOfUsage(terminal, issueToken);
    }
    const user = await findUserByEmail(database, email);
    if (user === null) {
      terminal.complain(`nobody has the address ${email}`);
      return EXIT_FAILED;
    }
    const tokens = await accessTokens();
    const { token } = await tokens.issue({ userId: user.id, email: user.email });
    terminal.print(token);
    return EXIT_OK;
  },
};
