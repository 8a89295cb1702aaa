import { describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { MOST_SURCHARGE_MICRO } from '../../src/domain/calls/settlement/call-surcharge.ts';
import { type ChargedCalls, chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import { chargedTokens, type FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';
import { type AccountLevel, readLevel } from '../../src/domain/credits/ledger/credit-account.ts';
import { costOf } from '../../src/domain/model-calls/paid-call.ts';
import type { TokenPrice } from '../../src/domain/models/aliases.ts';
import { runCheck } from '../../src/domain/reconciliation/audit-check.ts';
import { costDaysCheck, pricesCheck } from '../../src/domain/reconciliation/usage-checks.ts';
import type { Database, Statements } from '../../src/ports/database.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { addTestCompany, postTo } from '../doubles/test-company.ts';

/** What tokens cost, in millionths of a micro-credit. */
function numerator(
  price: { promptMicro: bigint; cachedMicro: bigint; completionMicro: bigint },
  tokens: { promptTokens: number; cachedTokens: number; completionTokens: number },
): bigint {
  const plain = BigInt(tokens.promptTokens - tokens.cachedTokens) * price.promptMicro;
  return (
    plain +
    BigInt(tokens.cachedTokens) * price.cachedMicro +
    BigInt(tokens.completionTokens) * price.completionMicro
  );
}

/** What the one statement of a charge guarantees, on one engine. */
export function chargeCallsContract(engine: string, given: () => Database): void {
  const { newId } = createSystemSecrets();

  async function company(grantMicro = 0n): Promise<string> {
    const id = await addTestCompany(given());
    if (grantMicro !== 0n) await grant(id, grantMicro);
    return id;
  }
  const grant = (accountId: string, amountMicro: bigint) => postTo(given(), accountId, amountMicro);
  const charge = (...calls: FinishedCall[]) => chargeCalls(given(), calls);
  const balance = async (id: string) => (await readLevel(given(), id))?.balanceMicro;
  // A copy: the rows of Bun's client come in an array of its own kind, which does not match a plain one.
  const rows = async (text: string, id: string) => [...(await given().query(text, [id]))];
  const transactions = (id: string) =>
    rows(
      `select version, type, amount_micro as amount, balance_after_micro as after, source_id as source
       from credit_transactions where account_id = $1 order by version`,
      id,
    );
  const usage = (id: string) =>
    rows(
      `select key_id as key, day::text, alias, calls, failures, prompt_tokens as prompt, cached_tokens as cached,
         completion_tokens as completion, charge_micro as charge
       from usage_days where company_id = $1 order by key_id, day, alias`,
      id,
    );
  const alerts = (id: string) =>
    rows(
      `select kind, subject, threshold_percent as percent, episode from credit_alerts
       where company_id = $1 order by created_at, kind, percent desc`,
      id,
    );

  /** All that charges leave, but for ids and times. */
  const left = async (id: string, key: string) => ({
    calls: await rows(
      `select request_id, key_id is null as keyless, alias, outcome, charge_micro, price_id, surcharge_micro, tool_uses,
         prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, started_at, end_user, tags, project,
         tries, charge_share_millionths, price_factor_millionths, completion_factor_millionths, tier, hour_write_tokens, hour_write_factor_millionths, cost_micro, own_key, cache_hit, served_by, over_mcp, unpriced, endpoint, target_id,
         reason, http_status, streamed, estimated_tokens, first_byte_ms, duration_ms
       from calls where company_id = $1 order by request_id`,
      id,
    ),
    ledger: await rows(
      `select version, type, amount_micro, balance_after_micro, contra, source_kind, reason
       from credit_transactions where account_id = $1 order by version`,
      id,
    ),
    days: await rows(
      `select day, alias, calls, failures, prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens,
         charge_micro, surcharge_micro, key_id = '00000000-0000-0000-0000-000000000000' as is_whole
       from usage_days where company_id = $1 order by day, alias, is_whole`,
      id,
    ),
    costs: await rows(
      `select day, alias, target_id, calls, charge_micro, cost_micro from cost_days where company_id = $1
       order by day, alias`,
      id,
    ),
    months: await rows('select month, charge_micro from key_months where key_id = $1 order by 1', key),
    withheld: await rows(
      `select request_id, alias, day, prompt_tokens, completion_tokens, prompt_bound, completion_bound, charged_micro,
         excess_micro from withheld_usage where company_id = $1 order by request_id`,
      id,
    ),
    alerts: await rows(
      `select kind, threshold_percent, episode from credit_alerts where company_id = $1 order by 1, 2, 3`,
      id,
    ),
  });

  describe(`charged calls on ${engine}`, () => {
    test('G-28 a call is charged by its tokens, with a ledger row, and the new level is returned', async () => {
      const id = await company(1_000n);
      const call = finishedCall(id);
      const level: AccountLevel = { accountId: id, balanceMicro: 924n, lineMicro: 0n, version: 2n };
      expect(await charge(call)).toEqual({ levels: [level], spending: [], budgets: [] });
      expect(await readLevel(given(), id)).toEqual(level);
      expect((await transactions(id)).slice(1)).toEqual([
        { version: 2n, type: 'USAGE', amount: -76n, after: 924n, source: call.id },
      ]);
      const [row] = await given().query('select charge_micro, price_id, alias from calls where id = $1', [
        call.id,
      ]);
      expect(row).toEqual({
        charge_micro: 76n,
        price_id: '00000000-0000-8000-8000-000000000002',
        alias: 'svc/chat-default',
      });
    });

    test('hosted tools are charged with the tokens: on the call, its ledger row, its day and its key', async () => {
      const id = await company(1_000n);
      const keyId = newId();
      const toolUses = { web_search: 2, file_search: 1 };
      const call = finishedCall(id, { keyId, surchargeMicro: 100, toolUses, monthlyLimitMicro: 500n });
      const { levels, spending } = await charge(call, finishedCall(id, { keyId }));
      expect(levels).toMatchObject([{ balanceMicro: 748n, version: 3n }]);
      expect(spending).toMatchObject([{ keyId, spentMicro: 252n }]);
      const [row] = await given().query(
        'select charge_micro, surcharge_micro, tool_uses from calls where id = $1',
        [call.id],
      );
      expect(row).toEqual({ charge_micro: 176n, surcharge_micro: 100n, tool_uses: toolUses });
      const posted = 'select reason from credit_transactions where account_id = $1 order by version offset 1';
      expect(await rows(posted, id)).toEqual([
        { reason: 'with hosted tools: file_search 1, web_search 2' },
        { reason: null },
      ]);
      const days = 'select charge_micro, surcharge_micro from usage_days where company_id = $1';
      const day = { charge_micro: 252n, surcharge_micro: 100n };
      expect(await rows(days, id)).toEqual([day, day]);
    });

    test('hosted tools of a call that is not charged cost nothing, and the surcharge is bounded', async () => {
      const id = await company();
      const toolUses = { web_search: 1 };
      await charge(
        finishedCall(id, { outcome: 'FAILED', surchargeMicro: 100, toolUses }),
        finishedCall(id, { tokens: null, surchargeMicro: 100, toolUses }),
        finishedCall(id, { surchargeMicro: -100 }),
      );
      expect(await balance(id)).toBe(-76n);
      await charge(finishedCall(id, { surchargeMicro: Number.MAX_SAFE_INTEGER }));
      expect(await balance(id)).toBe(-152n - BigInt(MOST_SURCHARGE_MICRO));
    });

    test('G-28 charging calls one by one and in groups writes the same rows', async () => {
      const random = createSeededRandom(75);
      const ofCompletion = createSeededRandom(76);
      const ofUnpriced = createSeededRandom(77);
      const alias = random.pick(['svc/chat-default', 'svc/chat-cheap']);
      const [singly, together, other] = [await company(2_000n), await company(2_000n), await company()];
      const keyId = newId();
      for (let round = 0; round < 40; round += 1) {
        const few = (most: number) => random.below(random.pick([2, most]));
        const tokens = { promptTokens: few(3_000), cachedTokens: few(900), completionTokens: few(900) };
        const over =
          random.below(6) === 0 ? { promptTokens: few(500), completionTokens: few(100) } : undefined;
        const changes = {
          ...{ alias: random.below(9) === 0 ? null : alias, requestId: `req_${round}`, tokenBounds: over },
          outcome: random.pick(['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'FAILED', 'REFUSED'] as const),
          tokens:
            random.below(8) === 0
              ? null
              : { ...tokens, cacheWriteTokens: random.pick([undefined, few(400)]) },
          startedAtMs: Date.UTC(2026, random.below(2), 1 + random.below(2)),
          monthlyLimitMicro: random.pick([null, 400n]),
          surchargeMicro: random.pick([undefined, few(500)]),
          toolUses: random.pick([undefined, { web_search: 1 + few(3) }]),
          endUser: random.pick([undefined, 'user-1']),
          tags: random.pick([undefined, ['env:test', 'team:a, "b"'], ['x']]),
          project: random.pick([undefined, 'search']),
          tries: random.pick([undefined, 3]),
          chargeShareMillionths: random.pick([undefined, undefined, 0, 1_000_000, few(1_000_000)]),
          priceFactorMillionths: random.pick([undefined, undefined, 0, few(9_000_000)]),
          completionFactorMillionths: ofCompletion.pick([undefined, 0, ofCompletion.below(9_000_000)]),
          tier: random.pick([undefined, 'priority']),
          ...random.pick([
            undefined,
            { hourWriteTokens: few(500), hourWriteFactorMillionths: 1_000_000 + few(2_000_000) },
          ]),
          costMicro: random.pick([undefined, few(5_000)]),
          ownKey: random.pick([undefined, true]),
          cacheHit: random.pick([undefined, true]),
          overMcp: random.pick([undefined, true]),
          servedBy: random.pick([undefined, 'svc/chat-premium']),
          unpriced: ofUnpriced.pick([undefined, ['service_tier', 'web_search']]),
        } satisfies Partial<FinishedCall>;
        const key = { keyId: random.pick([keyId, null]) };
        const one = await charge(finishedCall(singly, { ...changes, ...key }));
        const own = finishedCall(together, { ...changes, keyId: key.keyId === null ? null : together });
        const group = await charge(own, finishedCall(other, { tokens: null }));
        const shown = ({ levels, spending }: ChargedCalls) => [
          levels.map(({ balanceMicro, lineMicro, version }) => ({ balanceMicro, lineMicro, version })),
          spending.map(({ month, spentMicro, version }) => ({ month, spentMicro, version })),
        ];
        expect(shown(one)).toEqual(shown(group));
      }
      const alone = await left(singly, keyId);
      expect(alone).toEqual(await left(together, together));
      expect(Object.entries(alone).filter(([, table]) => table.length === 0)).toEqual([]);
      expect((await runCheck(given(), costDaysCheck)).faults).toEqual([]);
      expect((await runCheck(given(), pricesCheck)).faults).toEqual([]);
    });

    test('values that the calls of a group share are recorded with each of them', async () => {
      const random = createSeededRandom(74);
      const [singly, together] = [await company(900n), await company(900n)];
      const texts: string[] = [];
      const telling: Statements = {
        ...given(),
        query: (text, values = []) => {
          texts.push(String(values[0]));
          return given().query(text, values);
        },
      };
      for (let round = 0; round < 20; round += 1) {
        const [alias, outcome] = [
          random.pick(['svc/chat-default', 'svc/chat-cheap', null]),
          random.pick(['SUCCEEDED', 'FAILED'] as const),
        ];
        const isMixed = random.below(3) === 0;
        const calls = Array.from({ length: 3 }, (_, at) => {
          const promptTokens = random.below(3_000);
          return (companyId: string) =>
            finishedCall(companyId, {
              ...{ requestId: `req_${round}_${at}`, keyId: isMixed && at === 1 ? null : companyId },
              ...{ alias: isMixed && at === 2 ? null : alias, outcome, streamed: isMixed && at === 0 },
              tokens: isMixed && at === 0 ? null : { promptTokens, cachedTokens: 0, completionTokens: at },
              tokenBounds: isMixed && at === 1 ? null : { promptTokens: 2_000, completionTokens: 100 },
              reason: outcome === 'FAILED' ? 'upstream_error' : null,
            });
        });
        for (const call of calls) await charge(call(singly));
        await chargeCalls(
          telling,
          calls.map((call) => call(together)),
        );
      }
      expect(await left(singly, singly)).toEqual(await left(together, together));
      expect(texts.filter((text) => text.startsWith('{"company":')).length).toBe(20);
    });

    test('at equal prices a call costs at its provider what it is charged, and the sums match the calls', async () => {
      const random = createSeededRandom(72);
      const id = await company();
      const [row] = await given().query<TokenPrice>(
        `select prompt_micro as "promptMicro", cached_micro as "cachedMicro", completion_micro as "completionMicro",
           cache_write_micro as "cacheWriteMicro" from model_prices where alias = 'chat-premium' limit 1`,
      );
      const cost = row ?? { promptMicro: 0n, cachedMicro: 0n, completionMicro: 0n };
      const targets = [
        { id: 't1', baseUrl: 'https://one.example', model: 'm', apiKey: null, weight: 1, cost },
      ];
      const calls = Array.from({ length: 60 }, () => {
        const few = (most: number) => random.below(random.pick([2, most, 9_000_000]));
        const tokens = {
          ...{ promptTokens: few(3_000), cachedTokens: few(900), completionTokens: few(900) },
          ...{ cacheWriteTokens: random.pick([undefined, few(400)]) },
        };
        const tokenBounds = random.pick([null, { promptTokens: few(2_000), completionTokens: few(500) }]);
        const hour = random.pick([undefined, { tokens: few(400), factorMillionths: 1_600_000 }]);
        const used = random.pick([
          undefined,
          { priceFactorMillionths: few(3_000_000) },
          { priceFactorMillionths: few(3_000_000), completionFactorMillionths: few(3_000_000) },
        ]);
        const costMicro = costOf({ targets }, { targetId: 't1', tokens }, tokenBounds, used, hour);
        return finishedCall(id, {
          ...used,
          hourWriteTokens: hour?.tokens,
          hourWriteFactorMillionths: hour?.factorMillionths,
          alias: 'svc/chat-premium',
          targetId: 't1',
          tokens,
          tokenBounds,
          costMicro,
        });
      });
      const [first, ...others] = calls;
      if (first === undefined) throw new Error('no calls');
      await charge(first);
      await charge(...others);
      // Each of them once, however often it is sent.
      await charge(first);
      await charge(...calls);
      const differing = await rows(
        'select id from calls where company_id = $1 and cost_micro <> charge_micro',
        id,
      );
      expect(differing).toEqual([]);
      const sums = await rows(
        'select alias, target_id as target, calls, charge_micro - cost_micro as margin from cost_days where company_id = $1',
        id,
      );
      expect(sums).toEqual([{ alias: 'svc/chat-premium', target: 't1', calls: 60n, margin: 0n }]);
      expect((await runCheck(given(), costDaysCheck)).faults).toEqual([]);
    });

    test('a call is charged its share of price and surcharge, the factor on its tokens alone, rounded up once; also withheld usage', async () => {
      const random = createSeededRandom(53);
      const id = await company();
      const price = { promptMicro: 1_000_000n, cachedMicro: 500_000n, completionMicro: 4_000_000n };
      const expected = new Map<string, readonly [bigint, bigint]>();
      const calls = Array.from({ length: 60 }, (_, at) => {
        const share = [undefined, 0, 1, 999_999, 1_000_000][at] ?? random.below(1_000_001);
        const factor = random.pick([undefined, 0, 1, 500_000, 2_000_000, random.below(100_000_001)]);
        const ofCompletion =
          factor === undefined
            ? undefined
            : random.pick([undefined, 0, 1_500_000, random.below(100_000_001)]);
        const surcharge = random.pick([undefined, 1, random.below(100_000)]);
        const tokens = { promptTokens: random.below(9_000_000), cachedTokens: 3, completionTokens: 7 };
        const call = finishedCall(id, {
          ...{ tokens, surchargeMicro: surcharge, chargeShareMillionths: share },
          ...{ priceFactorMillionths: factor, completionFactorMillionths: ofCompletion },
          tokenBounds: { promptTokens: random.pick([1_000, 9_000_000]), completionTokens: 100 },
        });
        const due = (charged: typeof tokens) => {
          const ofPrompt =
            numerator(price, { ...charged, completionTokens: 0 }) * BigInt(factor ?? 1_000_000);
          const completion = numerator(price, { ...charged, promptTokens: 0, cachedTokens: 0 });
          const ofTokens = ofPrompt + completion * BigInt(ofCompletion ?? factor ?? 1_000_000);
          const whole = ofTokens + BigInt(surcharge ?? 0) * 10n ** 12n;
          return (whole * BigInt(share ?? 1_000_000) + 10n ** 18n - 1n) / 10n ** 18n;
        };
        const charge = due(chargedTokens(call) ?? tokens);
        expected.set(call.id, [charge, due(tokens) - charge]);
        return call;
      });
      await charge(...calls.slice(0, 30));
      for (const call of calls.slice(30)) await charge(call);
      const found = await rows(
        `select calls.id, charge_micro, coalesce(excess_micro, 0)::bigint as excess, surcharge_micro <= charge_micro as fits
         from calls left join withheld_usage on call_id = calls.id where calls.company_id = $1`,
        id,
      );
      expect(found).toHaveLength(60);
      for (const { id: call, charge_micro, excess, fits } of found) {
        expect([charge_micro, excess]).toEqual(expected.get(call as string) as unknown as bigint[]);
        expect(fits).not.toBe(false);
      }
      expect(await balance(id)).toBe(-[...expected.values()].reduce((sum, [one]) => sum + one, 0n));
      expect((await runCheck(given(), pricesCheck)).faults).toEqual([]);
    });

    test.each([
      ['that alias’s price', undefined, 'chat-premium'],
      ['the requested one’s price, if it is priced as that', 'svc/chat-default', 'chat-default'],
    ])('a call served by another alias has the requested name, and %s', async (_, pricedAs, priced) => {
      const id = await company();
      const tokens = { promptTokens: 100, cachedTokens: 0, completionTokens: 0 };
      for (const group of [1, 2]) {
        const calls = Array.from({ length: group }, () =>
          finishedCall(id, { tokens, servedBy: 'svc/chat-premium', pricedAs }),
        );
        await charge(...calls);
      }
      expect((await runCheck(given(), pricesCheck)).faults).toEqual([]);
      const found = await rows(
        `select distinct calls.alias, served_by, model_prices.alias as priced from calls
         join model_prices on price_id = model_prices.id where company_id = $1`,
        id,
      );
      const served = { alias: 'svc/chat-default', served_by: 'svc/chat-premium', priced };
      expect(found).toEqual([served]);
      expect(await usage(id)).toMatchObject([{ alias: 'svc/chat-default', calls: 3n }]);
    });

    test('G-33 the same call again, in the same group or a later one, charges nothing', async () => {
      const id = await company();
      const [one, two] = [finishedCall(id), finishedCall(id)];
      await charge(one, one);
      expect(await charge(one, two)).toMatchObject({ levels: [{ balanceMicro: -152n, version: 2n }] });
      expect(await charge(two, one)).toEqual({ levels: [], spending: [], budgets: [] });
      expect(await balance(id)).toBe(-152n);
      expect(await usage(id)).toMatchObject([{ calls: 2n, charge: 152n }]);
    });

    test('G-31 failed calls and calls without tokens are not charged; zero tokens cost zero', async () => {
      const id = await company();
      const free = [
        finishedCall(id, { outcome: 'FAILED', reason: 'no-usage', tokens: null }),
        finishedCall(id, { outcome: 'FAILED', reason: 'broken' }),
        finishedCall(id, { tokens: null }),
        finishedCall(id, { tokens: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 } }),
      ];
      expect(await charge(...free)).toEqual({ levels: [], spending: [], budgets: [] });
      expect(await transactions(id)).toEqual([]);
      expect(await usage(id)).toMatchObject([{ calls: 4n, failures: 2n, prompt: 0n, charge: 0n }]);
    });

    test('G-28 the price at the start of the call counts, and fractions of a micro-credit are rounded up', async () => {
      const id = await company();
      await given().query(
        `insert into model_prices (id, alias, prompt_micro, cached_micro, completion_micro, in_force_from)
         values ($1, 'embed-default', 100001, 0, 0, '2026-02-01T00:00:00Z')`,
        [newId()],
      );
      const tokens = { promptTokens: 1_000_000, cachedTokens: 0, completionTokens: 5 };
      const embed = { alias: 'other/prefix/embed-default', tokens };
      const at = (startedAtMs: number) => finishedCall(id, { ...embed, startedAtMs });
      const change = Date.UTC(2026, 1, 1);
      await charge(at(change - 1), at(change), at(change + 86_400_000));
      expect((await transactions(id)).map(({ amount }) => amount)).toEqual([-100_000n, -100_001n, -100_001n]);
      const one = { promptTokens: 1, cachedTokens: 9, completionTokens: 0 };
      await charge(finishedCall(id, { ...embed, tokens: { ...one, cachedTokens: 0 }, startedAtMs: change }));
      await charge(finishedCall(id, { ...embed, tokens: one, startedAtMs: change }));
      expect((await transactions(id)).slice(3).map(({ amount }) => amount)).toEqual([-1n]);
    });

    test('G-28 a call of an operator’s own alias has the price of its full name', async () => {
      const id = await company();
      for (const [alias, prompt] of [
        ['team-a/fast', 7_000_000],
        ['fast', 9_000_000],
      ] as const) {
        await given().query(`insert into model_aliases (alias, kind) values ($1, 'chat')`, [alias]);
        await given().query(
          `insert into model_prices (id, alias, prompt_micro, cached_micro, completion_micro, in_force_from)
           values ($1, $2, $3, 0, 0, '2026-01-01T00:00:00Z')`,
          [newId(), alias, prompt],
        );
      }
      const tokens = { promptTokens: 10, cachedTokens: 0, completionTokens: 5 };
      await charge(
        finishedCall(id, { alias: 'team-a/fast', tokens }),
        finishedCall(id, { alias: 'fast', tokens }),
      );
      await charge(finishedCall(id, { alias: 'team-a/fast', tokens }));
      expect((await transactions(id)).map(({ amount }) => amount)).toEqual([-70n, -90n, -70n]);
      expect((await runCheck(given(), pricesCheck)).faults).toEqual([]);
    });

    test('the spending of a key with a monthly limit is counted, and each threshold raises one alert', async () => {
      const id = await company();
      const keyId = newId();
      const limited = { keyId, monthlyLimitMicro: 160n };
      const spent = { keyId, month: '2026-01-01' };
      expect((await charge(finishedCall(id, limited))).spending).toEqual([
        { ...spent, spentMicro: 76n, version: 1n },
      ]);
      expect(await alerts(id)).toEqual([]);
      const twice = finishedCall(id, limited);
      const { spending } = await charge(twice, finishedCall(id, limited), twice);
      expect(spending).toEqual([{ ...spent, spentMicro: 228n, version: 3n }]);
      await charge(finishedCall(id, limited));
      const alert = { kind: 'KEY_SPENDING', subject: keyId, episode: '2026-01' };
      expect(await alerts(id)).toEqual([
        { ...alert, percent: 100 },
        { ...alert, percent: 80 },
      ]);
      const next = await charge(finishedCall(id, { ...limited, startedAtMs: Date.UTC(2026, 1, 1) }));
      expect(next.spending).toMatchObject([{ month: '2026-02-01', spentMicro: 76n }]);
    });

    test('charging one call raises alerts at the same thresholds as charging several', async () => {
      const random = createSeededRandom(74);
      const other = await company();
      let alerted = 0;
      for (let round = 0; round < 30; round += 1) {
        const [singly, together] = [await company(), await company()];
        const settings = random.pick([
          null,
          { thresholds: random.pick([null, '{60,250}']), percents: random.pick([null, '{1,33,100}']) },
        ]);
        // Every third one is charged in small steps, around a fifth of what it bought.
        const isNear = round % 3 === 0;
        const account = {
          balance: isNear ? 200 + random.below(9) : random.below(400) - 50,
          line: isNear ? 0 : random.pick([0, 0, null, 1 + random.below(900)]),
          toppedUp: isNear ? 1_000 : random.pick([0, 1 + random.below(600), 380]),
        };
        for (const id of [singly, together]) {
          await given().query(
            'update credit_accounts set balance_micro = $2, line_micro = $3, topped_up_micro = $4 where id = $1',
            [id, account.balance, account.line, account.toppedUp],
          );
          if (settings === null) continue;
          await given().query(
            `insert into alert_settings (company_id, is_on, balance_thresholds_micro, limit_percents, changed_at)
             values ($1, true, $2::text::bigint[], $3::text::integer[], now())`,
            [id, settings.thresholds, settings.percents],
          );
        }
        for (let call = 0; call < 6; call += 1) {
          const completionTokens = random.below(isNear ? 2 : 40);
          const changes = { tokens: { promptTokens: 0, cachedTokens: 0, completionTokens } };
          await charge(finishedCall(singly, changes));
          await charge(finishedCall(together, changes), finishedCall(other, { tokens: null }));
        }
        const found = await alerts(singly);
        expect({ ...account, settings, found }).toEqual({
          ...account,
          ...{ settings, found: await alerts(together) },
        });
        alerted += found.length;
      }
      expect(alerted).toBeGreaterThan(20);
    });

    test('G-28 a call that began before its alias’s first price, by a clock that is behind, has that price', async () => {
      const id = await company();
      // The first prices are in force since 1970.
      await charge(finishedCall(id, { startedAtMs: -3_600_000 }));
      expect(await balance(id)).toBe(-76n);
    });

    test('an invalid charge is refused completely: no account, no price, a balance beyond 64 bits', async () => {
      const [id, poor] = [await company(), await company(-(2n ** 63n) + 100n)];
      const bad: [FinishedCall, string][] = [
        [finishedCall(newId()), '23502'],
        [finishedCall(id, { alias: 'svc/chat-unheard-of' }), '23502'],
        [finishedCall(poor), '22003'],
      ];
      for (const [call, sqlState] of bad) {
        const more = finishedCall(call.companyId);
        const error = await charge(finishedCall(id), call, more).catch((reason) => reason);
        expect(error).toMatchObject({ reason: 'refused', sqlState });
      }
      expect(await balance(id)).toBe(0n);
      expect(await given().query('select 1 from calls where company_id = $1', [id])).toEqual([]);
    });
  });
}
