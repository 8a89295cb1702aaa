import { findUserByEmail } from '../domain/accounts/user.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';

/** For scripts and smoke tests: whoever can read the database and the signing secret is that person anyway. */
export const issueToken: Command = {
  name: 'issue-token',
  usage: 'EMAIL',
  summary: 'Prints an access token of that person, good for some minutes.',
  works: 'on-the-database',
  async run({ terminal, database, accessTokens }, [email, ...rest]) {
    if (email === undefined || rest.length > 0) {
      terminal.complain('usage: turnpike issue-token EMAIL');
      return EXIT_USAGE;
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
