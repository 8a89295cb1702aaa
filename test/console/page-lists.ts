/** Every page of the console, by who sees it: each is looked at on every width, and `console-files.test.ts` finds what is missing. */
import type { FilledCompany } from './filled-company.ts';

export const DOORS = [
  ...['/', '/sign-up', '/forgotten-password'],
  ...['/invitation#token=abc', '/reset-password#token=abc', '/verify-email#token=abc'],
];
/** Those that every member of a company has. */
const MEMBERS = [
  ...['/', '/usage', '/prices', '/mcp', '/team'],
  ...['/jobs', '/talents', '/matches', '/meetings'],
];
const ADMINS = [
  '/settings',
  '/keys',
  '/service-tokens',
  '/provider-keys',
  '/requests',
  '/billing',
  '/playground',
  '/payloads',
  '/calls/req_none/payload',
  '/playground/req_none',
  '/alerts',
  '/budgets',
  '/audit',
];
export const COMPANY = [...MEMBERS, ...ADMINS];
export const SYSTEM = [
  '/companies',
  '/audit',
  '/catalogue',
  '/models',
  '/margins',
  '/payment-events',
  '/stale-subscriptions',
  '/logs',
  '/generator',
  '/mail',
];
/** Looked at by `operations.slow.test.ts`, on a system where something has failed. */
export const OPERATIONS = [
  '/services',
  '/breakers',
  '/call-hooks',
  '/queues',
  '/queues/mail',
  '/ai-operations',
  '/all-requests',
  '/withheld-usage',
  '/audit-report',
  '/errors?level=WARN',
  '/logs?show=stored&level=WARN',
  '/unannounced-meetings',
  '/companies',
];

export const NOT_FOR_MEMBERS = [...ADMINS, ...SYSTEM, ...OPERATIONS];
export const NOT_FOR_SUPER_ADMINS = COMPANY.filter((path) => path !== '/' && !SYSTEM.includes(path));

/** Those of one thing each. */
export function singlePages({ jobId, talentId, meetingId }: FilledCompany): readonly string[] {
  const edited = [`/jobs/${jobId}`, `/talents/${talentId}`].flatMap((path) => [path, `${path}/edit`]);
  return [...edited, `/meetings/${meetingId}`];
}
