import { findPlan } from '../../catalog/plan.ts';
import { NEWS_RANK } from '../../subscriptions/news.ts';
import type { Effect } from '../effect.ts';
import { followedOutcome, followSubscription } from '../follow-subscription.ts';
import { amountOf } from '../tell-admins.ts';
import { idIn, momentIn } from '../wire-fields.ts';

/** `customer.subscription.trial_will_end`: three days before, or at once where a trial is cut short. Told once. */
export const subscriptionTrialWillEnd: Effect = async (event, context) => {
  const followed = await followSubscription(event, context, { rank: NEWS_RANK.changed });
  if (followed.outcome === 'not-yet') return followed.because;
  const { companyId, kept } = followed;
  const endsAt = momentIn(event.object.trial_end) ?? kept.subscription.trialEnd;
  const plan = await findPlan(context.transaction, kept.subscription.planId);
  if (endsAt !== null && plan !== null && kept.outcome !== 'ended') {
    await context.tellAdmins({
      kind: 'trial-ending',
      companyId,
      fact: `trial-ending:${idIn(event.object.id)}:${endsAt.toISOString()}`,
      data: { planName: plan.name, endsAt, amount: amountOf(plan.priceMinor, plan.currency) },
    });
  }
  return followedOutcome(event, followed);
};
