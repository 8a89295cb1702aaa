import { createInProcessState } from '../src/adapters/shared-state/in-process.ts';
import { addCompany } from '../src/domain/accounts/company.ts';
import { createCreditPack } from '../src/domain/catalog/credit-pack.ts';
import { createPlan, type Plan, syncAllPlansProviderPricing } from '../src/domain/catalog/plan.ts';
import { setCompanyBilling } from '../src/domain/credits/ledger/credit-account.ts';
import { postTransaction } from '../src/domain/credits/ledger/ledger.ts';
import { mintKey } from '../src/domain/keys/mint-key.ts';
import { createCipher } from '../src/domain/models/cipher.ts';
import { setAliasTargets } from '../src/domain/models/targets.ts';
import { HANDLED_EVENT_KINDS } from '../src/domain/payments/apply-event.ts';
import { createPaymentSandbox } from '../src/payment-sandbox/server.ts';
import type { Clock } from '../src/ports/clock.ts';
import type { Database } from '../src/ports/database.ts';
import { createSeededRandom } from '../test/doubles/seeded-random.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import { replaceGlobals } from './frame/globals.ts';
import { NEVER } from './frame/scheduler.ts';
import { createSimulatedSecrets } from './frame/secrets.ts';
import { COMPANIES, KEYS, LIVES } from './plan.ts';
import { openProvider, WEBHOOK_SECRET, WEBHOOK_URL } from './platform-process.ts';

interface KnownKey {
  readonly id: string;
  readonly rawKey: string;
  readonly limitMicro: bigint | null;
  readonly callsInFlight: number | null;
  readonly requestsPerMinute: number;
}

/** What every simulation begins with. */
export interface BaseWorld {
  readonly companies: readonly {
    readonly id: string;
    readonly keys: readonly KnownKey[];
    readonly customer: string;
  }[];
  readonly plans: readonly Plan[];
  readonly packId: string;
  /** Micro-credits for a million tokens. */
  readonly price: { readonly promptMicro: bigint; readonly completionMicro: bigint };
}

export const START_MS = Date.UTC(2026, 0, 5, 9);
export const CREDIT = 1_000_000n;
/** About what a call costs. */
export const CALL_MICRO = 5_000n;
export const ALIAS = 'svc/chat-default';
const CALLS_IN_FLIGHT = 3;
const REQUESTS_PER_MINUTE = 4;

/** Companies, keys, a model, plans and a pack, on a database of its own. */
export async function makeBaseWorld(database: Database): Promise<BaseWorld> {
  const random = createSeededRandom(1);
  const clock: Clock = {
    now: () => START_MS,
    uptimeMs: () => 0,
    after: () => ({ cancel() {} }),
    turn: async () => {},
    sleep: () => NEVER,
  };
  const secrets = createSimulatedSecrets(clock, random);
  const log = createSilentLog();
  const sharedState = createInProcessState({ clock });
  const sandbox = createPaymentSandbox({
    ...{ clock, secrets, log, database, webhookSecret: WEBHOOK_SECRET, eventKinds: HANDLED_EVENT_KINDS },
    baseUrl: () => 'http://sandbox.simulated',
    webhookUrl: () => WEBHOOK_URL,
  });
  const fetch = async (request: Request) =>
    request.url === WEBHOOK_URL ? new Response('') : await sandbox.fetch(request);
  const putBack = replaceGlobals({ nowMs: () => START_MS, random, fetch });
  try {
    await sandbox.begin();
    const provider = openProvider({ clock, log }, 'base');
    const cipher = createCipher({ masterKeys: ['a master key of sufficient length'], secrets });
    await setAliasTargets({ database, sharedState, secrets, cipher, prefix: 'svc' }, ALIAS, [
      { baseUrl: 'http://models.simulated/v1', model: 'x', apiKey: null, weight: 1 },
    ]);
    const packed = await createCreditPack(
      { database, provider, secrets, clock },
      { name: 'Pack', creditsMicro: 6n * CALL_MICRO, price: '5', currency: 'usd', sortOrder: 1 },
    );
    if (packed.outcome !== 'created') throw new Error(packed.message);
    const plans = await makePlans({ database, provider, secrets, clock, log });
    const companies = [];
    for (let number = 0; number < COMPANIES; number += 1) {
      companies.push(await makeCompany({ database, provider, secrets, clock }, number));
    }
    const [price] = await database.query<BaseWorld['price']>(
      `select prompt_micro as "promptMicro", completion_micro as "completionMicro" from model_prices
       where alias = 'chat-default' order by in_force_from desc limit 1`,
    );
    if (price === undefined) throw new Error('the model has no price');
    return { companies, plans, packId: packed.pack.id, price };
  } finally {
    putBack();
  }
}

type MakingParts = Parameters<typeof mintKey>[0] & {
  readonly database: Database;
  readonly provider: ReturnType<typeof openProvider>;
};

async function makePlans(parts: MakingParts & { readonly log: ReturnType<typeof createSilentLog> }) {
  const { database, secrets, clock } = parts;
  const common = {
    currency: 'USD',
    billingMode: 'PREPAID' as const,
    active: true,
    interval: 'MONTH' as const,
  };
  const wanted = [
    { name: 'Basic', price: 29, creditsMicro: 3_200n * CREDIT },
    { name: 'Pro', price: 99, creditsMicro: 12_000n * CREDIT },
    { name: 'Odd', price: '7.77', creditsMicro: 1_001n * CREDIT },
  ];
  for (const plan of wanted)
    await createPlan({ statements: database, secrets, clock }, { ...common, ...plan });
  const synced = await syncAllPlansProviderPricing(parts);
  if (synced.outcome !== 'synced') throw new Error(synced.message);
  return synced.plans;
}

/** The first are poor and prepaid, the third pays later up to a line, the last two have subscriptions. */
async function makeCompany({ database, provider, secrets, clock }: MakingParts, number: number) {
  const id = secrets.newId();
  const isPostpaid = number === COMPANIES - LIVES - 1;
  await addCompany(database, { id, name: `Company ${number}`, billingMode: 'PREPAID' });
  await database.query(
    `insert into users (id, company_id, email, password_hash, role) values ($1, $2, $3, 'none', 'COMPANY_ADMIN')`,
    [secrets.newId(), id, `company-${number}@example.com`],
  );
  if (isPostpaid) {
    await database.transaction((transaction) =>
      setCompanyBilling(transaction, id, 'POSTPAID', 4n * CALL_MICRO),
    );
  }
  if (number >= COMPANIES - LIVES) {
    const rich = {
      type: 'ADJUSTMENT' as const,
      amountMicro: 400n * CALL_MICRO,
      contra: 'adjustments' as const,
    };
    await database.transaction((transaction) =>
      postTransaction(transaction, { ...rich, accountId: id, sourceKind: 'base', sourceId: String(number) }),
    );
  }
  const made = await provider.createCustomer(
    { name: `Company ${number}`, email: null, metadata: {} },
    `customer-${number}`,
  );
  if (made.outcome !== 'done') throw new Error(made.failure.message);
  await database.query('update companies set provider_customer_id = $2 where id = $1', [id, made.value.id]);
  const keys: KnownKey[] = [];
  for (let key = 0; key < KEYS; key += 1) {
    const limitMicro = key === 1 && number === 0 ? 12n * CALL_MICRO : null;
    const callsInFlight = key === 0 ? CALLS_IN_FLIGHT : null;
    const requestsPerMinute = key === 1 && number === 1 ? REQUESTS_PER_MINUTE : 600;
    const minted = await mintKey(
      { database, secrets, clock },
      {
        ...{
          companyId: id,
          createdBy: null,
          name: `key ${key}`,
          requestsPerMinute,
          tokensPerMinute: 10_000_000,
        },
        ...{ maxCallsInFlight: callsInFlight, monthlySpendingLimitMicro: limitMicro },
      },
    );
    if (minted.outcome !== 'minted') throw new Error(`not minted: ${minted.outcome}`);
    keys.push({ id: minted.key.id, rawKey: minted.rawKey, limitMicro, callsInFlight, requestsPerMinute });
  }
  return { id, keys, customer: made.value.id };
}
