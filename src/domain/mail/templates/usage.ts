import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { atTime, inCredits, micro, moment, name, remark } from '../fields.ts';

export const lowBalance = template({
  data: z.strictObject({
    companyName: name,
    balanceMicro: micro,
    thresholdMicro: micro,
    /** The time of the balance. */
    at: moment.optional(),
    /** True if it is the recipient's personal balance, which the company's admins fill. */
    isOfUser: z.boolean().optional(),
  }),
  write: ({ companyName, balanceMicro, thresholdMicro, at, isOfUser }, links) => {
    const whose =
      isOfUser === true ? `Your personal credit balance at ${companyName}` : `The balance of ${companyName}`;
    const until = isOfUser === true ? 'a company admin moves credits to it' : 'credits are bought';
    return {
      subject:
        isOfUser === true
          ? `You have ${inCredits(balanceMicro)} left at ${companyName}`
          : `${companyName} has ${inCredits(balanceMicro)} left`,
      heading: 'Your credits are running low',
      blocks: [
        paragraph(
          BigInt(balanceMicro) > 0n
            ? `${whose} is below ${inCredits(thresholdMicro)}. When nothing is left, calls are refused.`
            : `${whose} is used up. Calls are refused until ${until}.`,
        ),
        facts(['Balance', inCredits(balanceMicro)], at === undefined ? null : ['As of', atTime(at)]),
        ...(isOfUser === true ? [] : [button('Buy credits', links.billing)]),
      ],
      because:
        isOfUser === true
          ? `You get this because API keys of ${companyName} draw on your personal credit balance.`
          : `You get this because you manage the billing of ${companyName}.`,
    };
  },
});

const expiringLots = z.strictObject({
  companyName: name,
  totalMicro: micro,
  /** The lots that expire first. */
  lots: z
    .array(z.strictObject({ label: name, creditsMicro: micro, expiresAt: moment }))
    .min(1)
    .max(10),
});

/** Credits will expire within days. */
export const creditsExpiring = template({
  data: expiringLots,
  write: ({ companyName, totalMicro, lots }, links) => ({
    subject: `${inCredits(totalMicro)} of ${companyName} expire soon`,
    heading: 'Some of your credits expire soon',
    blocks: [
      paragraph(
        `${inCredits(totalMicro)} of ${companyName} expire soon unless they are used. What expires first is used first, so there is nothing to set up.`,
      ),
      facts(...lots.map(factOf)),
      button('See your credits', links.billing),
    ],
    because: `You get this because you manage the billing of ${companyName}.`,
  }),
});

/** Credits were not used in time and have expired. */
export const creditsExpired = template({
  data: expiringLots,
  write: ({ companyName, totalMicro, lots }, links) => ({
    subject: `${inCredits(totalMicro)} of ${companyName} have expired`,
    heading: 'Some of your credits have expired',
    blocks: [
      paragraph(`${inCredits(totalMicro)} of ${companyName} were not used in time and have expired.`),
      facts(...lots.map(factOf)),
      button('See your credits', links.billing),
    ],
    because: `You get this because you manage the billing of ${companyName}.`,
  }),
});

function factOf(lot: z.output<typeof expiringLots>['lots'][number]): [string, string] {
  return [lot.label, `${inCredits(lot.creditsMicro)}, ${atTime(lot.expiresAt)}`];
}

/** A key has crossed a share of its monthly spending limit. */
export const spendingLimit = template({
  data: z.strictObject({
    companyName: name,
    keyName: name,
    limitMicro: micro,
    spentMicro: micro,
    /** The share of the limit that was crossed. */
    percent: z.int().min(1).max(100).optional(),
    resetsAt: moment,
  }),
  write: ({ companyName, keyName, limitMicro, spentMicro, percent, resetsAt }, links) => {
    const isUsedUp = percent === undefined ? BigInt(spentMicro) >= BigInt(limitMicro) : percent === 100;
    const share = percent === undefined ? 'most' : `${percent} percent`;
    return {
      subject: `The key ${keyName} has ${isUsedUp ? 'reached' : `used ${share} of`} its spending limit`,
      heading: `A key has ${isUsedUp ? 'reached' : `used ${share} of`} its spending limit`,
      blocks: [
        paragraph(
          isUsedUp
            ? `The key ${keyName} of ${companyName} has used up its limit for this month. Its calls are refused with 403 KEY_SPENDING_LIMIT until ${atTime(resetsAt)}, or until you raise the limit. Other keys are not affected.`
            : `The key ${keyName} of ${companyName} has used ${share} of its limit for this month. When nothing is left, its calls are refused with 403 KEY_SPENDING_LIMIT until ${atTime(resetsAt)}.`,
        ),
        facts(
          ['Key', keyName],
          ['Limit', inCredits(limitMicro)],
          ['Spent', inCredits(spentMicro)],
          ['Resets on', atTime(resetsAt)],
        ),
        button('See the keys', links.keys),
      ],
      because: `You get this because you manage the keys of ${companyName}.`,
    };
  },
});

/** A budget of the company has crossed a share of its limit. */
export const budget = template({
  data: z.strictObject({
    companyName: name,
    /** For example `the project website`. */
    budgetOf: name,
    /** Whether calls are refused once it is used up. */
    isHard: z.boolean(),
    limitMicro: micro,
    spentMicro: micro,
    /** The share of the budget that was crossed. */
    percent: z.int().min(1).max(100),
    resetsAt: moment,
  }),
  write: ({ companyName, budgetOf, isHard, limitMicro, spentMicro, percent, resetsAt }, links) => {
    const isUsedUp = percent === 100;
    const used = isUsedUp ? 'used up' : `${percent} percent used`;
    const refused = `refused with 403 BUDGET_EXCEEDED until ${atTime(resetsAt)}, or until you raise the budget`;
    const when = isUsedUp ? 'Calls' : 'When nothing is left, calls';
    const next = isHard
      ? `${when} that count for it are ${refused}.`
      : 'For alerts only. No call is refused.';
    return {
      subject: `The budget of ${budgetOf} is ${used}`,
      heading: `A monthly budget is ${used}`,
      blocks: [
        paragraph(`The monthly budget of ${budgetOf} at ${companyName} is ${used}. ${next}`),
        facts(
          ['Budget', inCredits(limitMicro)],
          ['Spent', inCredits(spentMicro)],
          ['Resets', atTime(resetsAt)],
        ),
        button('See the budgets', links.budgets),
      ],
      because: `You get this because you look after the billing of ${companyName}.`,
    };
  },
});

/** For super admins: a company requests a plan whose terms are agreed individually. */
export const planRequest = template({
  data: z.strictObject({
    companyName: name,
    planName: name,
    askedBy: name,
    message: remark.optional(),
  }),
  write: ({ companyName, planName, askedBy, message }, links) => ({
    subject: `${companyName} requests the plan ${planName}`,
    heading: 'A company requests a plan',
    blocks: [
      paragraph(
        `${companyName} would like the plan ${planName}. Agree on the terms with them, then assign the plan under Companies.`,
      ),
      facts(
        ['Company', companyName],
        ['Plan', planName],
        ['Contact', askedBy],
        message === undefined ? null : ['Message', message],
      ),
      button('See the companies', links.companies),
    ],
    because: 'You get this because you are a super admin.',
  }),
});

/** For super admins: providers reported more usage than the calls can have. */
export const withheldUsage = template({
  data: z.strictObject({
    calls: z.int().min(1),
    creditsMicro: micro,
    companies: z.array(name).min(1).max(10),
    aliases: z.array(name).min(1).max(10),
  }),
  write: ({ calls, creditsMicro, companies, aliases }, links) => ({
    subject: `Usage of ${calls === 1 ? 'a call' : `${calls} calls`} was withheld`,
    heading: 'A provider reported more usage than a call can have',
    blocks: [
      paragraph(
        'The calls were charged up to the context_length and max_output_tokens of their aliases. Post the rest if the provider is right, and then raise the bounds of the alias; otherwise drop it and check the provider.',
      ),
      facts(
        ['Calls', String(calls)],
        ['Withheld', inCredits(creditsMicro)],
        ['Companies', companies.join(', ')],
        ['Models', aliases.join(', ')],
      ),
      button('Post or drop', links.withheldUsage),
    ],
    because: 'You get this because you are a super admin.',
  }),
});

/** For super admins: the daily audit found differences that the previous one did not. */
export const auditDifferences = template({
  data: z.strictObject({
    differences: z.int().min(1),
    newDifferences: z.int().min(1),
    kinds: z.array(name).min(1).max(10),
    checkedAt: moment,
  }),
  write: ({ differences, newDifferences, kinds, checkedAt }, links) => ({
    subject: `The audit found ${differences === 1 ? 'a difference' : `${differences} differences`}`,
    heading: 'The books do not agree',
    blocks: [
      paragraph(
        'The daily audit compares balances, transactions and payments with each other and with the payment provider. The Audit page names each difference and the command that corrects it.',
      ),
      facts(
        ['Differences', String(differences)],
        ['New since the audit before', String(newDifferences)],
        ['Kinds', kinds.join(', ')],
        ['As of', atTime(checkedAt)],
      ),
      button('See the differences', links.auditReport),
    ],
    because: 'You get this because you are a super admin.',
  }),
});

/** An alert to one of the recipients of a channel. */
export const alert = template({
  data: z.strictObject({
    title: remark,
    message: remark,
    /** Null if it is about no company: then it is for operators. */
    companyName: name.nullable(),
    at: moment,
    isTest: z.boolean(),
  }),
  write: ({ title, message, companyName, at, isTest }, links) => ({
    subject: isTest ? `${title} (nothing has happened)` : title,
    heading: title,
    blocks: [
      paragraph(message),
      facts(companyName === null ? null : ['Company', companyName], ['As of', atTime(at)]),
      button('See the alerts', links.alerts),
    ],
    because: `You get this because an alert channel${companyName === null ? '' : ` of ${companyName}`} has your address.`,
  }),
});
