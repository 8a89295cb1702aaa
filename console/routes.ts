import type { ComponentType } from 'react';
import { pageOnDemand as page } from './page-boundary.tsx';
import type { Person } from './session/session.ts';

export interface Place {
  readonly path: string;
  readonly page: ComponentType;
  /** Omitted if the navigation has no entry for it. */
  readonly name?: string;
}

interface Room {
  readonly name: string;
  readonly places: readonly Place[];
}

const Overview = page(() => import('./pages/account/overview.tsx'), 'Overview');
const Usage = page(() => import('./pages/usage/usage.tsx'), 'Usage');
const Requests = page(() => import('./pages/usage/requests.tsx'), 'Requests');
const AllRequests = page(() => import('./pages/usage/requests.tsx'), 'AllRequests');
const Keys = page(() => import('./pages/keys/keys.tsx'), 'Keys');
const ServiceTokens = page(() => import('./pages/keys/service-tokens.tsx'), 'ServiceTokens');
const ProviderKeys = page(() => import('./pages/keys/provider-keys.tsx'), 'ProviderKeys');
const Billing = page(() => import('./pages/billing/billing.tsx'), 'Billing');
const Payloads = page(() => import('./pages/usage/payloads.tsx'), 'Payloads');
const StoredCall = page(() => import('./pages/usage/payloads.tsx'), 'StoredCall');
const SendAgain = page(() => import('./pages/keys/send-again.tsx'), 'SendAgain');
const Budgets = page(() => import('./pages/billing/budgets.tsx'), 'Budgets');
const Playground = page(() => import('./pages/keys/playground.tsx'), 'Playground');
const Prices = page(() => import('./pages/billing/prices.tsx'), 'Prices');
const Alerts = page(() => import('./pages/billing/alerts.tsx'), 'Alerts');
const Connect = page(() => import('./pages/keys/connect.tsx'), 'Connect');
const Jobs = page(() => import('./pages/hiring/jobs.tsx'), 'Jobs');
const JobPage = page(() => import('./pages/hiring/job.tsx'), 'JobPage');
const JobEdit = page(() => import('./pages/hiring/job.tsx'), 'JobEdit');
const Talents = page(() => import('./pages/hiring/talents.tsx'), 'Talents');
const TalentPage = page(() => import('./pages/hiring/talent.tsx'), 'TalentPage');
const TalentEdit = page(() => import('./pages/hiring/talent-edit.tsx'), 'TalentEdit');
const Matches = page(() => import('./pages/hiring/matches.tsx'), 'Matches');
const Meetings = page(() => import('./pages/hiring/meetings.tsx'), 'Meetings');
const MeetingPage = page(() => import('./pages/hiring/meeting.tsx'), 'MeetingPage');
const Team = page(() => import('./pages/account/team.tsx'), 'Team');
const CompanySettings = page(() => import('./pages/account/company-settings.tsx'), 'CompanySettings');
const AuditLog = page(() => import('./pages/account/audit-log.tsx'), 'AuditLog');
const Profile = page(() => import('./pages/account/profile.tsx'), 'Profile');
const Companies = page(() => import('./admin/companies.tsx'), 'Companies');
const Catalogue = page(() => import('./admin/catalogue.tsx'), 'Catalogue');
const Models = page(() => import('./admin/models.tsx'), 'Models');
const Margins = page(() => import('./admin/margins.tsx'), 'Margins');
const PaymentEvents = page(() => import('./admin/payment-events.tsx'), 'PaymentEvents');
const StaleSubscriptions = page(() => import('./admin/stale-subscriptions.tsx'), 'StaleSubscriptions');
const Logs = page(() => import('./operations/logs.tsx'), 'Logs');
const CapturedMails = page(() => import('./admin/captured-mails.tsx'), 'CapturedMails');
const UnannouncedMeetings = page(() => import('./admin/unannounced-meetings.tsx'), 'UnannouncedMeetings');
const Services = page(() => import('./operations/running-processes.tsx'), 'Services');
const Breakers = page(() => import('./operations/breakers.tsx'), 'Breakers');
const CallHooks = page(() => import('./operations/call-hooks.tsx'), 'CallHooks');
const Queues = page(() => import('./operations/queues.tsx'), 'Queues');
const DeadLetters = page(() => import('./operations/dead-letters.tsx'), 'DeadLetters');
const AiOperations = page(() => import('./operations/ai-operations.tsx'), 'AiOperations');
const Errors = page(() => import('./operations/errors.tsx'), 'Errors');
const WithheldUsage = page(() => import('./operations/withheld-usage.tsx'), 'WithheldUsage');
const AuditReport = page(() => import('./operations/audit-report.tsx'), 'AuditReport');
const Generator = page(() => import('./admin/generator.tsx'), 'Generator');

const STORED_PROMPTS: readonly Place[] = [
  { path: '/payloads', name: 'Stored prompts', page: Payloads },
  { path: '/calls/:requestId/payload', page: StoredCall },
  { path: '/playground/:requestId', page: SendAgain },
];
const OPERATIONS: readonly Place[] = [
  { path: '/services', name: 'Services', page: Services },
  { path: '/breakers', name: 'Breakers', page: Breakers },
  { path: '/queues', name: 'Workers and queues', page: Queues },
  { path: '/queues/:name', page: DeadLetters },
  { path: '/call-hooks', name: 'Call hooks', page: CallHooks },
  { path: '/generator', name: 'Match generator', page: Generator },
  { path: '/all-requests', name: 'All requests', page: AllRequests },
  { path: '/ai-operations', name: 'AI operations', page: AiOperations },
  { path: '/withheld-usage', name: 'Withheld usage', page: WithheldUsage },
  { path: '/audit-report', name: 'Audit', page: AuditReport },
  { path: '/errors', name: 'Errors', page: Errors },
  { path: '/logs', name: 'Logs', page: Logs },
];

/** The pages that a user may see. For that user, any other URL does not exist. */
export function roomsOf(person: Person): readonly Room[] {
  const isMember = person.companyId !== null;
  const isAdmin = isMember && person.role === 'COMPANY_ADMIN';
  const when = (is: boolean, ...places: Place[]) => (is ? places : []);
  const gateway = [
    ...when(isMember, { path: '/', name: 'Overview', page: Overview }),
    ...when(isAdmin, { path: '/playground', name: 'Playground', page: Playground }),
    ...when(isAdmin, { path: '/keys', name: 'API keys', page: Keys }),
    ...when(isAdmin, { path: '/provider-keys', name: 'Provider keys', page: ProviderKeys }),
    ...when(isAdmin, { path: '/requests', name: 'Requests', page: Requests }),
    ...when(isMember, { path: '/usage', name: 'Usage', page: Usage }, { path: '/calls', page: Usage }),
    ...when(isAdmin, ...STORED_PROMPTS),
    ...when(isMember, { path: '/prices', name: 'Models and prices', page: Prices }),
    ...when(isMember, { path: '/mcp', name: 'Agents and MCP', page: Connect }),
  ];
  const billing = when(
    isAdmin,
    { path: '/billing', name: 'Credits', page: Billing },
    { path: '/budgets', name: 'Budgets', page: Budgets },
    { path: '/alerts', name: 'Alerts', page: Alerts },
  );
  const company = [
    ...when(isAdmin, { path: '/settings', name: 'Company settings', page: CompanySettings }),
    ...when(isMember, { path: '/team', name: 'Team', page: Team }),
    ...when(isAdmin, { path: '/service-tokens', name: 'Service tokens', page: ServiceTokens }),
    ...when(isAdmin, { path: '/audit', name: 'Audit log', page: AuditLog }),
  ];
  const hiring = when(
    isMember,
    { path: '/jobs', name: 'Jobs', page: Jobs },
    { path: '/jobs/:id', page: JobPage },
    { path: '/jobs/:id/edit', page: JobEdit },
    { path: '/talents', name: 'Talents', page: Talents },
    { path: '/talents/:id', page: TalentPage },
    { path: '/talents/:id/edit', page: TalentEdit },
    { path: '/matches', name: 'Matches', page: Matches },
    { path: '/meetings', name: 'Meetings', page: Meetings },
    { path: '/meetings/:id', page: MeetingPage },
  );
  const system = when(
    person.isSuperAdmin,
    { path: '/companies', name: 'Companies', page: Companies },
    { path: '/catalogue', name: 'Plans and packs', page: Catalogue },
    { path: '/models', name: 'Models', page: Models },
    { path: '/margins', name: 'Margins', page: Margins },
    { path: '/payment-events', name: 'Payment events', page: PaymentEvents },
    { path: '/stale-subscriptions', name: 'Stale subscriptions', page: StaleSubscriptions },
    { path: '/unannounced-meetings', name: 'Unannounced rooms', page: UnannouncedMeetings },
    { path: '/mail', name: 'Captured mail', page: CapturedMails },
    ...when(!isAdmin, { path: '/audit', name: 'Audit log', page: AuditLog }),
    ...when(!isMember, { path: '/', page: Companies }),
  );
  const operations = when(person.isSuperAdmin, ...OPERATIONS);
  const own = [
    { path: '/profile', name: 'Password and sessions', page: Profile },
    ...when(!isMember && !person.isSuperAdmin, { path: '/', page: Profile }),
  ];
  return [
    { name: 'Gateway', places: gateway },
    { name: 'Billing', places: billing },
    { name: 'Company', places: company },
    { name: 'Hiring', places: hiring },
    { name: 'System', places: system },
    { name: 'Operations', places: operations },
    { name: 'You', places: own },
  ].filter(({ places }) => places.length > 0);
}
