import { acceptInvitation } from './operations/accept-invitation.ts';
import { addMeetingTranscript } from './operations/add-meeting-transcript.ts';
import { adjustCredits } from './operations/adjust-credits.ts';
import { aiOperationStats, aiOperations } from './operations/ai-operations.ts';
import { alertSettings, setAlertSettings } from './operations/alert-settings.ts';
import { apiKeys } from './operations/api-keys.ts';
import { auditLog } from './operations/audit-log.ts';
import { capturedMails } from './operations/captured-mails.ts';
import { changePassword } from './operations/change-password.ts';
import { changeRole } from './operations/change-role.ts';
import { circuitBreakers, resetCircuitBreaker } from './operations/circuit-breakers.ts';
import { closeJob } from './operations/close-job.ts';
import { companies } from './operations/companies.ts';
import { company } from './operations/company.ts';
import { createApiKey } from './operations/create-api-key.ts';
import { createBillingPortalSession } from './operations/create-billing-portal-session.ts';
import { createCreditPack } from './operations/create-credit-pack.ts';
import { createCreditPackCheckout } from './operations/create-credit-pack-checkout.ts';
import { createJob } from './operations/create-job.ts';
import { createMeeting } from './operations/create-meeting.ts';
import { createPlan } from './operations/create-plan.ts';
import { createSubscriptionCheckout } from './operations/create-subscription-checkout.ts';
import { createTalent } from './operations/create-talent.ts';
import { creditAlerts } from './operations/credit-alerts.ts';
import { creditBalance } from './operations/credit-balance.ts';
import { creditPackPurchases } from './operations/credit-pack-purchases.ts';
import { creditPacks } from './operations/credit-packs.ts';
import { creditStatement } from './operations/credit-statement.ts';
import { creditTransactions } from './operations/credit-transactions.ts';
import { deactivateStaleSubscriptions } from './operations/deactivate-stale-subscriptions.ts';
import { deadLetters, deleteDeadLetters, redriveDeadLetters } from './operations/dead-letters.ts';
import { endSession } from './operations/end-session.ts';
import { eraseTalent } from './operations/erase-talent.ts';
import { errorGroups, logEntries } from './operations/errors.ts';
import { exportTalent } from './operations/export-talent.ts';
import { invitations } from './operations/invitations.ts';
import { inviteMember } from './operations/invite-member.ts';
import { invoices } from './operations/invoices.ts';
import { job } from './operations/job.ts';
import { jobs } from './operations/jobs.ts';
import { leaveCompany } from './operations/leave-company.ts';
import { logStream } from './operations/log-stream.ts';
import { login } from './operations/login.ts';
import { logout } from './operations/logout.ts';
import { matchGenerator, startMatchGenerator, stopMatchGenerator } from './operations/match-generator.ts';
import { matchWeights, setMatchWeights } from './operations/match-weights.ts';
import { matches } from './operations/matches.ts';
import { meeting } from './operations/meeting.ts';
import { meetings, unannouncedMeetings } from './operations/meetings.ts';
import { members } from './operations/members.ts';
import { modelAliases } from './operations/model-aliases.ts';
import { paymentEvents } from './operations/payment-events.ts';
import { plans } from './operations/plans.ts';
import { refreshSession } from './operations/refresh-session.ts';
import { removeMember } from './operations/remove-member.ts';
import { replayPaymentEvent } from './operations/replay-payment-event.ts';
import { requestPasswordReset } from './operations/request-password-reset.ts';
import { resetPassword } from './operations/reset-password.ts';
import { revokeApiKey } from './operations/revoke-api-key.ts';
import { rotateApiKey } from './operations/rotate-api-key.ts';
import { serviceProcesses } from './operations/service-processes.ts';
import { sessions } from './operations/sessions.ts';
import { setAliasPrice } from './operations/set-alias-price.ts';
import { setAliasTargets } from './operations/set-alias-targets.ts';
import { setCompanyBilling } from './operations/set-company-billing.ts';
import { signUp } from './operations/sign-up.ts';
import { subscription } from './operations/subscription.ts';
import { syncAllPlansProviderPricing } from './operations/sync-plan-pricing.ts';
import { talent } from './operations/talent.ts';
import { talents } from './operations/talents.ts';
import { updateApiKeyLimits } from './operations/update-api-key-limits.ts';
import { updateCompany } from './operations/update-company.ts';
import { updateJob } from './operations/update-job.ts';
import { updateTalent } from './operations/update-talent.ts';
import { usage } from './operations/usage.ts';
import { usageFailures } from './operations/usage-failures.ts';
import { whoAmI } from './operations/who-am-i.ts';
import { withdrawInvitation } from './operations/withdraw-invitation.ts';
import { workQueues } from './operations/work-queues.ts';
import type { Declaration } from './schema-builder.ts';

/** Every operation, one file each: a new one is a file in operations/ and a line here. */
export const operations: readonly Declaration[] = [
  signUp,
  login,
  refreshSession,
  logout,
  sessions,
  endSession,
  changePassword,
  requestPasswordReset,
  resetPassword,
  whoAmI,
  company,
  updateCompany,
  members,
  changeRole,
  removeMember,
  leaveCompany,
  invitations,
  inviteMember,
  withdrawInvitation,
  acceptInvitation,
  apiKeys,
  createApiKey,
  rotateApiKey,
  revokeApiKey,
  updateApiKeyLimits,
  modelAliases,
  setAliasTargets,
  setAliasPrice,
  creditBalance,
  creditTransactions,
  creditStatement,
  usage,
  usageFailures,
  creditAlerts,
  alertSettings,
  setAlertSettings,
  invoices,
  creditPacks,
  plans,
  subscription,
  creditPackPurchases,
  createCreditPackCheckout,
  createSubscriptionCheckout,
  createBillingPortalSession,
  createPlan,
  createCreditPack,
  syncAllPlansProviderPricing,
  deactivateStaleSubscriptions,
  paymentEvents,
  replayPaymentEvent,
  adjustCredits,
  setCompanyBilling,
  companies,
  auditLog,
  logStream,
  capturedMails,
  jobs,
  job,
  createJob,
  updateJob,
  closeJob,
  talents,
  talent,
  createTalent,
  updateTalent,
  exportTalent,
  eraseTalent,
  matches,
  matchWeights,
  setMatchWeights,
  matchGenerator,
  startMatchGenerator,
  stopMatchGenerator,
  meetings,
  meeting,
  createMeeting,
  addMeetingTranscript,
  unannouncedMeetings,
  serviceProcesses,
  circuitBreakers,
  resetCircuitBreaker,
  workQueues,
  deadLetters,
  redriveDeadLetters,
  deleteDeadLetters,
  aiOperations,
  aiOperationStats,
  errorGroups,
  logEntries,
];
