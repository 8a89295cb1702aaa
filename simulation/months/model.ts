/**
 * What a company has and owes after months of subscriptions and packs, by docs/billing.md alone: a second, small account of
 * the provider's invoices and of the credits that follow from them. It shares no code with `src`. Times are in seconds, money in minor units,
 * credits in micro-credits; credits are rounded down where docs/billing.md says so.
 */
export interface ModelPlan {
  readonly id: string;
  readonly priceMinor: number;
  readonly creditsMicro: number;
  readonly months: 1 | 12;
  readonly trialDays: number | null;
  readonly trialCreditsMicro: number;
  readonly expireDays: number | null;
}

export interface ModelPack {
  readonly priceMinor: number;
  readonly creditsMicro: number;
  readonly expireDays: number | null;
}

export interface ModelCoupon {
  readonly percent: number | null;
  readonly amountMinor: number;
  readonly duration: 'once' | 'repeating' | 'forever';
  readonly months: number;
}

interface Line {
  readonly plan: ModelPlan;
  readonly netMinor: number;
}

export interface ModelInvoice {
  readonly lines: readonly Line[];
  /** Without tax. */
  readonly netMinor: number;
  readonly totalMinor: number;
  /** What is due after the customer's balance, and after credit notes before payment. */
  dueMinor: number;
  /** By credit notes before payment. */
  notedMinor: number;
  readonly isTrial: boolean;
  /** Of the trial that it begins. */
  readonly periodEnd: number;
  status: 'OPEN' | 'PAID' | 'VOID';
  attempts: number;
  nextAttempt: number | null;
  /** Returned by refunds, lost disputes and credit notes. */
  returnedMinor: number;
  /** By refunds and disputes, which take it from the card. */
  returnedToCardMinor: number;
}

type Status = 'TRIALING' | 'ACTIVE' | 'PAST_DUE' | 'CANCELED';

export interface ModelSubscription {
  plan: ModelPlan;
  status: Status;
  anchor: number;
  periodStart: number;
  periodEnd: number;
  trialEnd: number | null;
  cancelsAtPeriodEnd: boolean;
  /** What becomes of the invoices of renewals while nothing is collected. */
  paused: 'keep_as_draft' | 'void' | null;
  endedAt: number | null;
  pastDueSince: number | null;
  coupon: { readonly of: ModelCoupon; readonly end: number | null } | null;
  /** The part of the price that the present period was invoiced for. */
  paidShare: number;
  latest: ModelInvoice;
}

interface Lot {
  leftMicro: number;
  expiresAt: number;
  readonly grantedAt: number;
  readonly source: object;
  expiredMicro: number;
  readonly isTrial: boolean;
}

interface Purchase {
  readonly pack: ModelPack;
  readonly paidMinor: number;
  returnedMinor: number;
  takenMicro: number;
}

interface Spent {
  readonly spentMinor: number;
}

/** What a refund or a lost dispute took, until it fails or is won. */
export interface Return {
  readonly of: { readonly invoice: ModelInvoice } | { readonly purchase: Purchase };
  readonly minor: number;
  takenMicro: number;
  expiredMicro: number;
}

const DAY = 86_400;
/** The wait after each failed attempt; after the last the subscription ends. */
const RETRIES = [3 * DAY, 5 * DAY, 7 * DAY];
const GRACE = 7 * DAY;

export class CompanyModel {
  subscription: ModelSubscription | null = null;
  readonly invoices: ModelInvoice[] = [];
  /** In the order of payment, with what other invoices took from the customer's balance. */
  readonly paid: (ModelInvoice | Spent)[] = [];
  readonly purchases: Purchase[] = [];
  readonly lots: Lot[] = [];
  balanceMicro = 0;
  /** Negative is a credit of the customer. */
  customerMinor = 0;
  cardWorks = true;
  private now: number;
  private readonly taxPercent: number;
  private hadTrialCredits = false;
  private grantedMicro = 0;
  private unposted: (ModelInvoice | Spent)[] = [];

  get isActive(): boolean {
    const { status, pastDueSince } = this.subscription ?? {};
    if (status === 'PAST_DUE') return this.now - (pastDueSince ?? 0) < GRACE;
    return status === 'ACTIVE' || status === 'TRIALING';
  }

  /** The customer's balance, without what open invoices took of it. */
  get settledMinor(): number {
    return this.invoices
      .filter(({ status }) => status === 'OPEN')
      .reduce(
        (sum, { totalMinor, notedMinor, dueMinor }) => sum - (totalMinor - notedMinor - dueMinor),
        this.customerMinor,
      );
  }

  constructor(startsAt: number, taxPercent: number) {
    this.now = startsAt;
    this.taxPercent = taxPercent;
  }

  /** Everything that the provider does until then, and then what arrives of it here: none of it while events are late. */
  advance(to: number, isReported = true): void {
    for (let due = this.nextDue(to); due !== null; due = this.nextDue(to)) {
      this.now = due;
      this.doDue();
    }
    this.now = to;
    if (isReported) this.settle();
    else this.expire();
  }

  subscribe(plan: ModelPlan, hasTrial = this.subscription === null): void {
    const trialDays = hasTrial ? plan.trialDays : null;
    const end = trialDays === null ? addMonths(this.now, plan.months) : this.now + trialDays * DAY;
    const invoice = this.invoice([{ plan, netMinor: trialDays === null ? plan.priceMinor : 0 }], {
      ...{ isTrial: trialDays !== null, periodEnd: end },
    });
    this.subscription = {
      plan,
      status: trialDays === null ? 'ACTIVE' : 'TRIALING',
      anchor: trialDays === null ? this.now : end,
      periodStart: this.now,
      periodEnd: end,
      trialEnd: trialDays === null ? null : end,
      cancelsAtPeriodEnd: false,
      paused: null,
      endedAt: null,
      pastDueSince: null,
      coupon: null,
      paidShare: 1,
      latest: invoice,
    };
    this.markPaid(invoice);
    this.settle();
  }

  /** False if the payment fails: then nothing has changed. */
  change(plan: ModelPlan): boolean {
    const { subscription } = this;
    if (subscription === null) return false;
    if (subscription.status === 'TRIALING') {
      subscription.plan = plan;
      return true;
    }
    const before = { ...subscription };
    const unusedMinor = -this.rest(subscription, before.plan, before.paidShare);
    const isSame = plan.months === before.plan.months;
    const share = shareOf(plan, this.couponOf(subscription));
    const own = isSame ? this.rest(subscription, plan, share) : net(plan, this.couponOf(subscription));
    const due = this.withTax(unusedMinor + own) + this.customerMinor;
    if (due > 0 && !this.cardWorks) return false;
    subscription.plan = plan;
    subscription.paidShare = share;
    if (!isSame) {
      subscription.anchor = this.now;
      subscription.periodStart = this.now;
      subscription.periodEnd = addMonths(this.now, plan.months);
      this.takeCoupon(subscription);
    }
    const invoice = this.invoice([
      { plan: before.plan, netMinor: unusedMinor },
      { plan, netMinor: own },
    ]);
    subscription.latest = invoice;
    if (invoice.status === 'OPEN') this.markPaid(invoice);
    this.settle();
    return true;
  }

  setCoupon(coupon: ModelCoupon): void {
    if (this.subscription === null) return;
    const end = coupon.duration === 'repeating' ? addMonths(this.now, coupon.months) : null;
    this.subscription.coupon = { of: coupon, end };
  }

  cancelNow(): void {
    if (this.subscription !== null) this.end(this.subscription);
    this.settle();
  }

  /** The customer pays the open invoice on its page. */
  payOpen(): void {
    const open = this.invoices.findLast(({ status }) => status === 'OPEN');
    if (open === undefined) return;
    this.markPaid(open);
    this.recover(open);
    this.settle();
  }

  /** A credit note before payment; with nothing left to pay the invoice is paid. */
  noteOpen(invoice: ModelInvoice, minor: number): void {
    invoice.notedMinor += minor;
    invoice.dueMinor -= minor;
    if (invoice.dueMinor > 0) return;
    this.markPaid(invoice);
    this.recover(invoice);
    this.settle();
  }

  private recover(paid: ModelInvoice): void {
    const { subscription } = this;
    if (subscription?.status !== 'PAST_DUE' || subscription.latest !== paid) return;
    subscription.status = 'ACTIVE';
    subscription.pastDueSince = null;
  }

  buy(pack: ModelPack): void {
    const purchase = { pack, paidMinor: this.withTax(pack.priceMinor), returnedMinor: 0, takenMicro: 0 };
    this.purchases.push(purchase);
    this.grant(pack.creditsMicro, purchase, pack.expireDays);
  }

  /** An invoice that is for no plan: the card pays what the customer's balance does not. */
  payOther(minor: number): void {
    const spentMinor = Math.min(minor, -this.customerMinor);
    if (spentMinor === 0) return;
    this.customerMinor += spentMinor;
    this.unposted.push({ spentMinor });
    this.settle();
  }

  use(micro: number): void {
    this.balanceMicro -= micro;
    this.spend(micro);
  }

  returnPurchase(purchase: Purchase, minor: number): Return {
    const due = this.duePurchase(purchase, minor);
    return { of: { purchase }, minor, ...this.takeBack(due, purchase) };
  }

  private duePurchase(purchase: Purchase, minor: number): number {
    purchase.returnedMinor += minor;
    const { pack, paidMinor, takenMicro } = purchase;
    purchase.takenMicro = Math.floor((pack.creditsMicro * purchase.returnedMinor) / paidMinor);
    return purchase.takenMicro - takenMicro;
  }

  returnInvoice(invoice: ModelInvoice, minor: number, to: 'card' | 'balance' | 'outside'): Return {
    if (to === 'balance') this.customerMinor -= minor;
    if (to === 'card') invoice.returnedToCardMinor += minor;
    return { of: { invoice }, minor, ...this.takeBack(this.dueInvoice(invoice, minor), invoice) };
  }

  private dueInvoice(invoice: ModelInvoice, minor: number): number {
    invoice.returnedMinor += minor;
    const before = this.grantedMicro;
    this.grantedMicro = this.granted();
    return before - this.grantedMicro;
  }

  /** A lost dispute was won, or a refund failed: what it took is given back, but for what had expired before. */
  undo({ of, minor, takenMicro, expiredMicro }: Return): void {
    const source = 'invoice' in of ? of.invoice : of.purchase;
    if ('invoice' in of) of.invoice.returnedToCardMinor -= minor;
    const due =
      'invoice' in of ? -this.dueInvoice(of.invoice, -minor) : -this.duePurchase(of.purchase, -minor);
    const notTaken = Math.min(expiredMicro, Math.max(0, due - takenMicro));
    const own = this.lots.find((lot) => lot.source === source);
    if (own === undefined) {
      this.balanceMicro += due;
      return;
    }
    own.expiredMicro += notTaken;
    if (due - notTaken <= 0) return;
    this.addLot(due - notTaken, {}, this.now + own.expiresAt - own.grantedAt, false);
  }

  /** A dispute that was won is lost once more. */
  returnAgain({ of, minor }: Return): Return {
    return 'invoice' in of
      ? this.returnInvoice(of.invoice, minor, 'card')
      : this.returnPurchase(of.purchase, minor);
  }

  private nextDue(to: number): number | null {
    const { subscription } = this;
    const dues = this.invoices.flatMap(({ nextAttempt }) => nextAttempt ?? []);
    if (subscription !== null && subscription.status !== 'CANCELED') dues.push(subscription.periodEnd);
    const due = Math.min(...dues);
    return due <= to ? due : null;
  }

  private doDue(): void {
    const { subscription } = this;
    const retried = this.invoices.find(({ nextAttempt }) => nextAttempt === this.now);
    if (retried !== undefined) this.collect(retried);
    else if (subscription?.cancelsAtPeriodEnd === true) this.end(subscription);
    else if (subscription !== null) this.renew(subscription);
  }

  private renew(subscription: ModelSubscription): void {
    const { plan } = subscription;
    subscription.periodStart = subscription.periodEnd;
    subscription.periodEnd = nextAnniversary(subscription.anchor, this.now, plan.months);
    const coupon = this.couponOf(subscription);
    if (subscription.status === 'TRIALING') subscription.status = 'ACTIVE';
    subscription.paidShare = shareOf(plan, coupon);
    this.takeCoupon(subscription);
    if (subscription.paused === 'keep_as_draft') return;
    const invoice = this.invoice([{ plan, netMinor: net(plan, coupon) }]);
    subscription.latest = invoice;
    if (subscription.paused === 'void' && invoice.status === 'OPEN') {
      invoice.status = 'VOID';
      this.customerMinor -= invoice.totalMinor - invoice.dueMinor;
      return;
    }
    if (invoice.status === 'OPEN') this.collect(invoice);
  }

  private collect(invoice: ModelInvoice): void {
    const { subscription } = this;
    if (subscription === null || subscription.status === 'CANCELED') {
      invoice.nextAttempt = null;
      return;
    }
    if (this.cardWorks) {
      this.markPaid(invoice);
      this.recover(invoice);
      return;
    }
    const wait = RETRIES[invoice.attempts];
    invoice.attempts += 1;
    invoice.nextAttempt = wait === undefined ? null : this.now + wait;
    if (wait === undefined) {
      this.end(subscription);
      return;
    }
    if (subscription.status !== 'PAST_DUE') subscription.pastDueSince = this.now;
    subscription.status = 'PAST_DUE';
  }

  private end(subscription: ModelSubscription): void {
    subscription.status = 'CANCELED';
    subscription.endedAt = this.now;
    subscription.pastDueSince = null;
    for (const lot of this.lots) {
      if (lot.isTrial && lot.expiresAt > this.now) lot.expiresAt = this.now;
    }
    for (const invoice of this.invoices) invoice.nextAttempt = null;
  }

  private invoice(
    lines: readonly Line[],
    { isTrial, periodEnd } = { isTrial: false, periodEnd: 0 },
  ): ModelInvoice {
    const netMinor = lines.reduce((sum, line) => sum + line.netMinor, 0);
    const totalMinor = this.withTax(netMinor);
    const left = totalMinor + this.customerMinor;
    this.customerMinor = Math.min(0, left);
    const invoice: ModelInvoice = {
      ...{ lines, netMinor, totalMinor, dueMinor: Math.max(0, left), notedMinor: 0 },
      ...{ isTrial, periodEnd, status: 'OPEN' },
      ...{ attempts: 0, nextAttempt: null, returnedMinor: 0, returnedToCardMinor: 0 },
    };
    this.invoices.push(invoice);
    if (invoice.dueMinor === 0) this.markPaid(invoice);
    return invoice;
  }

  private markPaid(invoice: ModelInvoice): void {
    if (invoice.status === 'PAID') return;
    invoice.status = 'PAID';
    invoice.nextAttempt = null;
    this.unposted.push(invoice);
  }

  /** What the provider has reported is posted, and then expires what is due. */
  private settle(): void {
    for (const invoice of this.unposted.splice(0)) {
      if ('isTrial' in invoice && invoice.isTrial) {
        this.grantTrial(invoice);
        continue;
      }
      this.paid.push(invoice);
      const granted = this.granted();
      const more = granted - this.grantedMicro;
      this.grantedMicro = granted;
      if ('spentMinor' in invoice) this.takeBack(-more, invoice);
      else if (more > 0) this.grant(more, invoice, invoice.lines.at(-1)?.plan.expireDays ?? null);
      else if (more < 0) this.use(-more);
    }
    this.expire();
  }

  private expire(): void {
    for (const lot of this.lots) {
      if (lot.expiresAt > this.now || lot.leftMicro === 0) continue;
      this.balanceMicro -= lot.leftMicro;
      lot.expiredMicro = lot.leftMicro;
      lot.leftMicro = 0;
    }
  }

  private grantTrial(invoice: ModelInvoice): void {
    const micro = invoice.lines[0]?.plan.trialCreditsMicro ?? 0;
    if (this.hadTrialCredits || micro === 0) return;
    this.hadTrialCredits = true;
    this.addLot(micro, invoice, this.endOfTrial(invoice), true);
  }

  private endOfTrial(invoice: ModelInvoice): number {
    const { subscription } = this;
    return Math.min(subscription?.endedAt ?? invoice.periodEnd, invoice.periodEnd);
  }

  private grant(micro: number, source: object, expireDays: number | null): void {
    if (expireDays === null) this.balanceMicro += micro;
    else this.addLot(micro, source, this.now + expireDays * DAY, false);
  }

  private addLot(micro: number, source: object, expiresAt: number, isTrial: boolean): void {
    this.balanceMicro += micro;
    const leftMicro = Math.max(0, Math.min(micro, this.balanceMicro));
    const rest = { grantedAt: this.now, source, expiredMicro: 0, isTrial };
    this.lots.push({ leftMicro, expiresAt, ...rest });
  }

  /** Those that expire first. */
  private spend(micro: number): void {
    let left = micro;
    for (const lot of this.lots.toSorted((one, other) => one.expiresAt - other.expiresAt)) {
      const taken = Math.min(left, lot.leftMicro);
      lot.leftMicro -= taken;
      left -= taken;
    }
  }

  /** From the credits of its payment first; what of them has expired is not taken a second time. */
  private takeBack(micro: number, source: object): Pick<Return, 'takenMicro' | 'expiredMicro'> {
    if (micro <= 0) {
      this.balanceMicro -= micro;
      return { takenMicro: micro, expiredMicro: 0 };
    }
    const own = this.lots.find((lot) => lot.source === source);
    const expired = Math.min(micro, own?.expiredMicro ?? 0);
    if (own !== undefined) own.expiredMicro -= expired;
    const taken = micro - expired;
    const lasting = Math.max(0, this.balanceMicro - this.lots.reduce((sum, lot) => sum + lot.leftMicro, 0));
    const first = Math.min(taken, own === undefined ? lasting : own.leftMicro);
    if (own !== undefined) own.leftMicro -= first;
    this.balanceMicro -= taken;
    this.spend(taken - first);
    return { takenMicro: taken, expiredMicro: expired };
  }

  /**
   * The highest point of the running sum of what the invoices moved, at most all money at the best rate. Money that a plan
   * returned to the customer's balance and that pays for something else takes its credits with it.
   */
  private granted(): number {
    let [highest, reached, sum, money, best] = [0, 0, 0, 0, 0];
    const back = { micro: 0, minor: 0 };
    for (const invoice of this.paid) {
      if ('spentMinor' in invoice) {
        const micro = back.minor > 0 ? (back.micro * invoice.spentMinor) / back.minor : 0;
        highest = Math.max(reached, highest - micro);
        continue;
      }
      const moved = invoice.lines.reduce((all, { plan, netMinor }) => {
        if (netMinor > 0) best = Math.max(best, plan.creditsMicro / plan.priceMinor);
        return all + Math.floor((plan.creditsMicro * netMinor) / plan.priceMinor);
      }, 0);
      const { totalMinor, notedMinor, returnedMinor } = invoice;
      if (moved < 0 && totalMinor < 0) {
        back.micro -= moved;
        back.minor -= totalMinor;
      }
      const share = totalMinor > 0 ? (notedMinor + returnedMinor) / totalMinor : 0;
      sum += moved > 0 ? moved * (1 - share) : moved;
      money += leftOf(invoice);
      // The limit is one of what is granted: it takes nothing from those who got all their money back.
      reached = Math.min(sum, Math.max(0, money * best));
      highest = Math.max(highest, reached);
    }
    return highest;
  }

  private withTax(netMinor: number): number {
    return netMinor + Math.round((netMinor * this.taxPercent) / 100);
  }

  private couponOf({ coupon }: ModelSubscription): ModelCoupon | null {
    return coupon === null || (coupon.end !== null && coupon.end <= this.now) ? null : coupon.of;
  }

  private takeCoupon(subscription: ModelSubscription): void {
    if (subscription.coupon?.of.duration === 'once') subscription.coupon = null;
  }

  private rest({ periodStart, periodEnd }: ModelSubscription, plan: ModelPlan, share: number): number {
    return Math.round((plan.priceMinor * share * (periodEnd - this.now)) / (periodEnd - periodStart));
  }
}

/** The money of its lines that was paid and not returned, in whole minor units. */
function leftOf({ netMinor, totalMinor, notedMinor, returnedMinor }: ModelInvoice): number {
  const paidMinor = totalMinor - notedMinor;
  if (netMinor <= 0 || totalMinor <= 0) return netMinor;
  if (paidMinor <= 0) return 0;
  const left = Math.floor((netMinor * paidMinor) / totalMinor);
  return left - Math.floor((left * Math.min(returnedMinor, paidMinor)) / paidMinor);
}

function net({ priceMinor }: ModelPlan, coupon: ModelCoupon | null): number {
  if (coupon === null) return priceMinor;
  if (coupon.percent !== null) return priceMinor - Math.round((priceMinor * coupon.percent) / 100);
  return Math.max(0, priceMinor - coupon.amountMinor);
}

function shareOf(plan: ModelPlan, coupon: ModelCoupon | null): number {
  if (coupon === null) return 1;
  if (coupon.percent !== null) return (100 - coupon.percent) / 100;
  return net(plan, coupon) / plan.priceMinor;
}

/** The same day of a later month, or its last one. */
function addMonths(seconds: number, months: number): number {
  const at = new Date(seconds * 1000);
  const day = at.getUTCDate();
  at.setUTCDate(1);
  at.setUTCMonth(at.getUTCMonth() + months);
  const last = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate();
  at.setUTCDate(Math.min(day, last));
  return at.getTime() / 1000;
}

function nextAnniversary(anchor: number, after: number, months: number): number {
  for (let count = 1; ; count += 1) {
    const next = addMonths(anchor, count * months);
    if (next > after) return next;
  }
}
