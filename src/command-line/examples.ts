/** The examples of `turnpike help COMMAND`, with realistic values. */
const COMPANY = '019a6f0e-5f00-7000-8000-000000000001';
const KEY = '019a6f0e-5f00-7000-8000-000000000002';
const OTHER = '019a6f0e-5f00-7000-8000-000000000003';

const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  migrate: ['migrate'],
  'create-super-admin': ['create-super-admin you@example.com'],
  'create-company': ['create-company "Acme Ltd" admin@acme.example'],
  'issue-token': ['issue-token admin@acme.example'],
  'reset-totp': ['reset-totp admin@acme.example'],
  companies: ['companies', `companies ${COMPANY}`, 'companies --json'],
  budgets: [`budgets ${COMPANY}`],
  'set-budget': [
    `set-budget ${COMPANY} company 1000`,
    `set-budget ${COMPANY} project website 200 --alert-only`,
    `set-budget ${COMPANY} end-user '*' 5`,
    `set-budget ${COMPANY} company none`,
  ],
  ceilings: [`ceilings ${COMPANY}`],
  'set-ceilings': [
    `set-ceilings ${COMPANY} --requests-per-minute 6000 --api-keys 20`,
    `set-ceilings ${COMPANY} --api-keys none`,
  ],
  'suspend-company': [`suspend-company ${COMPANY} --reason "The card was reported as stolen"`],
  'resume-company': [`resume-company ${COMPANY}`],
  keys: [`keys ${COMPANY}`],
  'mint-key': [
    `mint-key ${COMPANY} "Production"`,
    `mint-key ${COMPANY} "Nightly jobs" --scopes inference:chat,usage:read --rpm 60`,
    `mint-key ${COMPANY} "Ada" --payer ada@acme.example --spending-limit 50 --json`,
  ],
  'rotate-key': [`rotate-key ${COMPANY} ${KEY}`, `rotate-key ${COMPANY} ${KEY} --expires 2031-12-31T23:00Z`],
  'revoke-key': [`revoke-key ${COMPANY} ${KEY}`],
  'service-tokens': [`service-tokens ${COMPANY}`],
  'create-service-token': ['create-service-token admin@acme.example "CI" --scopes keys:read --days 90'],
  'revoke-service-token': [`revoke-service-token ${COMPANY} ${OTHER}`],
  aliases: ['aliases', 'aliases --retired --json'],
  providers: ['providers', 'providers --json'],
  models: ['models', 'models openai', 'models --json'],
  'set-alias': [
    'set-alias svc/chat-default --provider openai --model gpt-4.1 --key-file /run/secrets/openai',
    'set-alias svc/chat-default --tool web_search=0.01 --max-tool-uses 5',
    'set-alias team-a/fast --kind chat --prompt 0.2 --cached 0.1 --completion 0.8 --provider ollama --model llama3.2 --no-test',
    'set-alias team-a/fast --fallback svc/chat-cheap --context-length 131072',
  ],
  'retire-alias': ['retire-alias team-a/fast'],
  'reseal-keys': ['reseal-keys'],
  prices: ['prices', 'prices --json'],
  'set-price': ['set-price svc/chat-default --prompt 2 --cached 0.5 --completion 8'],
  margins: [
    'margins',
    'margins --by provider --from 2031-01-01 --to 2031-01-31',
    'margins --by company --json',
  ],
  'adjust-credits': [`adjust-credits ${COMPANY} 50 --reason "Goodwill" --idempotency-key ticket-4711`],
  audit: [
    'audit',
    'audit --verbose',
    'audit --provider --json',
    'audit --provider --from 2026-10-01 --to 2026-10-31',
  ],
  correct: [`correct credit-pack-purchase/${OTHER} --credits=-1000 --cash-minor=-1000`],
  'set-billing': [`set-billing ${COMPANY} POSTPAID --line 1000`],
  invoices: [`invoices ${COMPANY}`],
  'invoice-month': ['invoice-month', 'invoice-month --month 2026-10'],
  'mark-invoice-paid': [`mark-invoice-paid ${OTHER}`],
  'void-invoice': [`void-invoice ${OTHER} "Sent twice"`],
  statement: [`statement ${COMPANY} --from 2026-10-01 --to 2026-10-31 --out /tmp/october.csv`],
  'export-calls': [
    'export-calls --out /srv/analytics',
    'export-calls --out /srv/analytics --from 2026-11-01',
  ],
  'set-aside-calls': ['set-aside-calls'],
  'repair-calls': ['repair-calls --all', `repair-calls ${OTHER} --drop "A load test"`],
  'withheld-usage': ['withheld-usage'],
  'payment-events': ['payment-events', 'payment-events FAILED'],
  'replay-payment-event': [
    `replay-payment-event ${OTHER}`,
    `replay-payment-event ${OTHER} --drop "Refunded at the provider"`,
  ],
  'replay-payments': [
    'replay-payments --from 2026-11-14T00:00Z --to 2026-11-15T00:00Z',
    'replay-payments --object in_1OqXk2',
  ],
  'deactivate-stale-subscriptions': [
    'deactivate-stale-subscriptions',
    'deactivate-stale-subscriptions --apply',
  ],
  'rebuild-plan-pricing': [`rebuild-plan-pricing ${OTHER}`],
  'rebuild-pack-pricing': [`rebuild-pack-pricing ${OTHER}`],
  plans: ['plans', 'plans --json'],
  'assign-plan': [
    `assign-plan ${COMPANY} ${OTHER} --line 5000 --due-days 30`,
    `assign-plan ${COMPANY} ${OTHER} --invoice-day 5`,
  ],
  'plan-rates': ['plan-rates'],
  'set-plan-rate': ['set-plan-rate price_1Qabc eur 19.99'],
  'other-invoice-lines': ['other-invoice-lines'],
  'create-webhook-endpoint': ['create-webhook-endpoint https://backend.example/payments/webhook'],
  'recreate-webhook-endpoint': ['recreate-webhook-endpoint https://backend.example/payments/webhook'],
  queue: ['queue mail'],
  redrive: ['redrive mail', `redrive mail ${OTHER}`],
  'verify-deployment': [
    'verify-deployment http://127.0.0.1:8081',
    'verify-deployment https://backend.example --ai http://ai.internal:8082 --json',
  ],
};

export function examplesOf(name: string): readonly string[] {
  return EXAMPLES[name] ?? [];
}
