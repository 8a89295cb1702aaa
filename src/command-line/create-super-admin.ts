import { addUser } from '../domain/accounts/user.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';

const PASSWORD_BYTES = 18;

/** In production there is no demo world: this makes the first person who can log in. */
export const createSuperAdmin: Command = {
  name: 'create-super-admin',
  usage: 'EMAIL',
  summary: 'Makes a super admin and prints the password, once.',
  works: 'on-the-database',
  async run({ terminal, database, secrets }, [email, ...rest]) {
    if (email === undefined || rest.length > 0) {
      terminal.complain('usage: turnpike create-super-admin EMAIL');
      return EXIT_USAGE;
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
