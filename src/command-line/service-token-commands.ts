import { findCompany } from '../domain/accounts/company.ts';
import {
  createServiceToken,
  listServiceTokens,
  revokeServiceToken,
  SERVICE_SCOPES,
  serviceTokenStatus,
} from '../domain/accounts/service-tokens.ts';
import { findUserByEmail } from '../domain/accounts/user.ts';
import { appendAuditEntry } from '../domain/audit/audit-log.ts';
import { isId } from '../domain/keys/api-key.ts';
import {
  type Command,
  complainOfNoCompany,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  printJson,
  readOptions,
  takeJson,
} from './command.ts';

export const serviceTokensCommand: Command = {
  name: 'service-tokens',
  usage: 'COMPANY_ID [--json]',
  summary: "A company's service tokens for GraphQL, the newest first.",
  works: 'on-the-database',
  async run({ terminal, database, clock }, given) {
    const { isJson, words } = takeJson(given);
    const [companyId, ...rest] = words;
    if (companyId === undefined || !isId(companyId) || rest.length > 0) {
      return complainOfUsage(terminal, serviceTokensCommand);
    }
    if ((await findCompany(database, companyId)) === null) return complainOfNoCompany(terminal, companyId);
    const tokens = await listServiceTokens(database, companyId);
    if (isJson) {
      const shown = tokens.map((token) => ({ ...token, status: serviceTokenStatus(token, clock.now()) }));
      return printJson(terminal, shown);
    }
    for (const token of tokens) {
      const used = token.lastUsedAt === null ? 'never used' : `used ${token.lastUsedAt.toISOString()}`;
      const status = serviceTokenStatus(token, clock.now());
      terminal.print(
        `${token.id} ${status} ${token.scopes.join(',')} until ${token.expiresAt.toISOString()}, ${used}: ${token.name}`,
      );
    }
    if (tokens.length === 0) terminal.print('no service tokens');
    return EXIT_OK;
  },
};

const DAY_MS = 24 * 60 * 60 * 1000;

export const createServiceTokenCommand: Command = {
  name: 'create-service-token',
  usage: 'ADMIN_EMAIL NAME --scopes SCOPE,… [--days N] [--json]',
  summary: 'Creates a service token within the rights of a company admin and prints it, once.',
  works: 'on-the-database',
  async run({ terminal, database, secrets, clock }, given) {
    const { isJson, words } = takeJson(given);
    const options = readWords(words);
    if (options === null) return complainOfUsage(terminal, createServiceTokenCommand);
    const admin = await findUserByEmail(database, options.email);
    if (admin === null || admin.companyId === null || admin.role !== 'COMPANY_ADMIN') {
      terminal.complain(`${options.email} is not the admin of a company`);
      return EXIT_FAILED;
    }
    const { companyId, id: createdBy } = admin;
    const expiresAt = options.days === null ? null : new Date(clock.now() + options.days * DAY_MS);
    const created = await database.transaction(async (transaction) => {
      const made = await createServiceToken({ clock, secrets }, transaction, {
        ...{ companyId, createdBy, expiresAt, name: options.name, scopes: options.scopes },
      });
      if (made.outcome !== 'created') return made;
      const { id, name, scopes } = made.serviceToken;
      await appendAuditEntry(transaction, {
        ...{ happenedAt: new Date(clock.now()), companyId, actorId: null, actorEmail: null },
        ...{ action: 'service-token.created', objectKind: 'service-token', objectId: id },
        ...{
          details: { name, scopes, onBehalfOf: admin.email },
          clientAddress: 'command line',
          requestId: '',
        },
      });
      return made;
    });
    if (created.outcome === 'invalid') terminal.complain(`${created.field}: ${created.message}`);
    if (created.outcome === 'too-many') terminal.complain('the company has too many: revoke one first');
    if (created.outcome !== 'created') return EXIT_FAILED;
    if (isJson) return printJson(terminal, { ...created.serviceToken, rawToken: created.rawToken });
    terminal.print(created.rawToken);
    const { id, expiresAt: end } = created.serviceToken;
    terminal.print(`service token ${id} until ${end.toISOString()}; it is not shown again`);
    return EXIT_OK;
  },
};

function readWords(words: readonly string[]) {
  const typed = readOptions(words, { scopes: { type: 'string' }, days: { type: 'string' } }, 2);
  if (typed === null) return null;
  const { values, positionals } = typed;
  const [email, name] = positionals;
  if (email === undefined || name === undefined) return null;
  if (values.scopes === undefined || !/^\d{1,4}$/.test(values.days ?? '1')) return null;
  const scopes = values.scopes === 'all' ? [...SERVICE_SCOPES] : values.scopes.split(',');
  return { email, name, scopes, days: values.days === undefined ? null : Number(values.days) };
}

export const revokeServiceTokenCommand: Command = {
  name: 'revoke-service-token',
  usage: 'COMPANY_ID TOKEN_ID',
  summary: 'Revokes a service token: requests with it are refused at once.',
  works: 'on-the-database',
  async run({ terminal, database, clock }, [companyId, id, ...rest]) {
    if (companyId === undefined || id === undefined || rest.length > 0) {
      return complainOfUsage(terminal, revokeServiceTokenCommand);
    }
    const now = new Date(clock.now());
    const isKnown = isId(companyId) && isId(id);
    const revoked = await database.transaction(async (transaction) => {
      const done = isKnown ? await revokeServiceToken(transaction, { companyId, id, now }) : null;
      if (done?.wasLive !== true) return done;
      await appendAuditEntry(transaction, {
        ...{ happenedAt: now, companyId, actorId: null, actorEmail: null, action: 'service-token.revoked' },
        ...{ objectKind: 'service-token', objectId: id, details: { name: done.serviceToken.name } },
        ...{ clientAddress: 'command line', requestId: '' },
      });
      return done;
    });
    if (revoked === null) {
      terminal.complain(`the company ${companyId} has no service token ${id}`);
      return EXIT_FAILED;
    }
    terminal.print(`revoked ${id}: ${revoked.serviceToken.name}`);
    return EXIT_OK;
  },
};
