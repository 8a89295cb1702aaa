import { listCompanies, prepareSignUp, signUp } from '../domain/accounts/company.ts';
import { markVerified } from '../domain/accounts/email-verification.ts';
import { resetSessions } from '../domain/accounts/sessions.ts';
import { removeTotp } from '../domain/accounts/two-factor.ts';
import { addUser, findUserByEmail } from '../domain/accounts/user.ts';
import { appendAuditEntry } from '../domain/audit/audit-log.ts';
import { isId } from '../domain/keys/api-key.ts';
import { type Command, complainOfUsage, EXIT_FAILED, EXIT_OK, printJson, takeJson } from './command.ts';

const COMPANIES_SHOWN = 1_000;

export const companiesCommand: Command = {
  name: 'companies',
  usage: '[AFTER_ID] [--json]',
  summary: `The companies with their ids, ${COMPANIES_SHOWN.toLocaleString('en')} at a time.`,
  works: 'on-the-database',
  async run({ terminal, database }, given) {
    const { isJson, words } = takeJson(given);
    const [after, ...rest] = words;
    if (rest.length > 0 || (after !== undefined && !isId(after))) {
      return complainOfUsage(terminal, companiesCommand);
    }
    const companies = await listCompanies(database, { limit: COMPANIES_SHOWN, after });
    if (isJson) return printJson(terminal, companies);
    for (const { id, billingMode, name } of companies) terminal.print(`${id} ${billingMode} ${name}`);
    if (companies.length === COMPANIES_SHOWN)
      terminal.print(`more: turnpike companies ${companies.at(-1)?.id}`);
    return EXIT_OK;
  },
};

const PASSWORD_BYTES = 18;
const LONGEST_NAME = 200;

/** In production there is no demo world: this command creates the first user who can log in. */
export const createSuperAdmin: Command = {
  name: 'create-super-admin',
  usage: 'EMAIL [--json]',
  summary: 'Creates a super admin and prints the password, once.',
  works: 'on-the-database',
  async run({ terminal, database, secrets }, given) {
    const { isJson, words } = takeJson(given);
    const [email, ...rest] = words;
    if (email === undefined || rest.length > 0) {
      return complainOfUsage(terminal, createSuperAdmin);
    }
    const password = secrets.randomBytes(PASSWORD_BYTES).toBase64({ alphabet: 'base64url' });
    const account = { companyId: null, role: 'MEMBER', isSuperAdmin: true } as const;
    const added = await addUser(database, secrets, { ...account, id: secrets.newId(), email, password });
    switch (added.outcome) {
      case 'added':
        if (isJson) return printJson(terminal, { email, password });
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

/** Needed to add companies if SIGN_UP is invited or closed. */
export const createCompany: Command = {
  name: 'create-company',
  usage: 'NAME EMAIL [--json]',
  summary: 'Creates a company with its first admin and prints the password, once.',
  works: 'on-the-database',
  async run({ terminal, database, secrets, clock }, given) {
    const { isJson, words } = takeJson(given);
    const [name, email, ...rest] = words;
    const companyName = name?.trim() ?? '';
    if (email === undefined || rest.length > 0 || companyName === '' || companyName.length > LONGEST_NAME) {
      return complainOfUsage(terminal, createCompany);
    }
    const password = secrets.randomBytes(PASSWORD_BYTES).toBase64({ alphabet: 'base64url' });
    const prepared = await prepareSignUp(secrets, { companyName, email, password });
    if (prepared.outcome !== 'prepared') {
      terminal.complain(
        prepared.outcome === 'bad-email' ? `${email} is not an e-mail address` : prepared.message,
      );
      return EXIT_FAILED;
    }
    const made = await database.transaction(async (transaction) => {
      if ((await findUserByEmail(transaction, email)) !== null) return null;
      const signedUp = await signUp(transaction, secrets, prepared);
      if (signedUp.outcome !== 'signed-up')
        throw new Error(`${email} has just been given an account: repeat it`);
      const { companyId, userId } = signedUp;
      const now = new Date(clock.now());
      // The operator vouches for the address.
      await markVerified(transaction, userId, now);
      const command = { actorId: null, actorEmail: null, clientAddress: '', requestId: '' };
      await appendAuditEntry(transaction, {
        ...{ ...command, happenedAt: now, companyId, action: 'company.created' },
        ...{ objectKind: 'company', objectId: companyId, details: { email, by: 'command line' } },
      });
      return companyId;
    });
    if (made === null) {
      terminal.complain(`${email} has an account already`);
      return EXIT_FAILED;
    }
    if (isJson) return printJson(terminal, { id: made, name: companyName, email, password });
    terminal.print(`company ${made}: ${companyName}`);
    terminal.print(`${email} is its admin; the password, shown only now: ${password}`);
    return EXIT_OK;
  },
};

/** For scripts and smoke tests. Access to the database and the signing secret already allows this. */
export const issueToken: Command = {
  name: 'issue-token',
  usage: 'EMAIL',
  summary: 'Prints an access token of the user, valid for some minutes.',
  works: 'on-the-database',
  async run({ terminal, database, accessTokens }, [email, ...rest]) {
    if (email === undefined || rest.length > 0) {
      return complainOfUsage(terminal, issueToken);
    }
    const user = await findUserByEmail(database, email);
    if (user === null) {
      terminal.complain(`no account has the address ${email}`);
      return EXIT_FAILED;
    }
    const tokens = await accessTokens();
    const { token } = await tokens.issue({ userId: user.id, email: user.email });
    terminal.print(token);
    return EXIT_OK;
  },
};

/** For a super admin who has lost the device and the recovery codes, if no other super admin can reset them. */
export const resetTotpCommand: Command = {
  name: 'reset-totp',
  usage: 'EMAIL',
  summary: 'Disables two-factor authentication of the user and ends their sessions.',
  works: 'on-the-database',
  async run({ terminal, database, clock }, [email, ...rest]) {
    if (email === undefined || rest.length > 0) {
      return complainOfUsage(terminal, resetTotpCommand);
    }
    const user = await findUserByEmail(database, email);
    if (user === null) {
      terminal.complain(`no account has the address ${email}`);
      return EXIT_FAILED;
    }
    const now = new Date(clock.now());
    const wasOn = await database.transaction(async (transaction) => {
      if (!(await removeTotp(transaction, user.id))) return false;
      await resetSessions(transaction, user.id, now);
      await appendAuditEntry(transaction, {
        happenedAt: now,
        companyId: user.companyId,
        actorId: null,
        actorEmail: null,
        action: 'totp.reset',
        objectKind: 'user',
        objectId: user.id,
        details: { email: user.email, by: 'command line' },
        clientAddress: '',
        requestId: '',
      });
      return true;
    });
    if (!wasOn) {
      terminal.complain(`${email} has not set up two-factor authentication`);
      return EXIT_FAILED;
    }
    terminal.print(`two-factor authentication of ${email} is off, and their sessions have ended`);
    return EXIT_OK;
  },
};
