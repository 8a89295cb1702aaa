/**
 * Prices are entered in major units ("19.99") and sent in the provider's minor units, as integers. The number of
 * decimals depends on the currency. A price that the currency cannot represent is refused, never rounded.
 */
type MinorUnits =
  | { readonly outcome: 'converted'; readonly amountMinor: bigint; readonly currency: string }
  | { readonly outcome: 'refused'; readonly message: string };

interface CurrencyRule {
  /** Decimals of an amount in the provider's API. */
  readonly wireDigits: number;
  /** Decimals that a price may have; the API's other decimals are zero. */
  readonly priceDigits: number;
}

const TWO_DIGITS = `
  aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bmd bnd bob brl bsd bwp byn bzd cad cdf chf cny cop crc cve
  czk dkk dop dzd egp etb eur fjd fkp gbp gel gip gmd gtq gyd hkd hnl htg huf idr ils inr jmd kes kgs khr kyd kzt lak
  lbp lkr lrd lsl mad mdl mkd mmk mnt mop mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd pab pen pgk php pkr pln qar
  ron rsd rub sar sbd scr sek sgd shp sle sos srd std szl thb tjs top try ttd twd tzs uah usd uyu uzs wst xcd yer zar
  zmw`;
const NO_DIGITS = 'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf';
/** Three decimals in the API, of which the provider requires the last to be 0. */
const THREE_DIGITS = 'bhd jod kwd omr tnd';
/** These lost their minor unit after the provider had started with two decimals, which it still requires, as 00. */
const TWO_ZEROS = 'isk ugx';

const rules: ReadonlyMap<string, CurrencyRule> = new Map([
  ...rows(TWO_DIGITS, { wireDigits: 2, priceDigits: 2 }),
  ...rows(NO_DIGITS, { wireDigits: 0, priceDigits: 0 }),
  ...rows(THREE_DIGITS, { wireDigits: 3, priceDigits: 2 }),
  ...rows(TWO_ZEROS, { wireDigits: 2, priceDigits: 0 }),
]);

/** The provider's maximum for a price: eight digits. */
const LARGEST_MINOR = 99_999_999n;
const DECIMAL = /^(\d{1,20})(?:\.(\d{1,20}))?$/;

export function isKnownCurrency(currency: string): boolean {
  return rules.has(currency.toLowerCase());
}

/** What every amount in the currency is a multiple of: 1 for usd, 10 for kwd, 100 for isk. */
export function leastMinorOf(currency: string): bigint {
  const { wireDigits, priceDigits } = rules.get(currency.toLowerCase()) ?? { wireDigits: 2, priceDigits: 2 };
  return 10n ** BigInt(wireDigits - priceDigits);
}

/**
 * A number is read by its shortest decimal form, so 19.99 is exactly 19.99; no floating-point arithmetic is done on it.
 */
export function toMinorUnits(price: string | number, currency: string): MinorUnits {
  const code = currency.toLowerCase();
  const name = code.toUpperCase().slice(0, 10);
  const rule = rules.get(code);
  if (rule === undefined) {
    return refuse(
      `"${name}" is not a currency we can charge in. Use a three-letter code such as usd or eur.`,
    );
  }
  const written = String(price).trim();
  const match = DECIMAL.exec(written);
  if (match === null) {
    return refuse(
      `"${written.slice(0, 40)}" is not a price. Write it like 19.99: not negative, no exponent.`,
    );
  }
  const fraction = (match[2] ?? '').replace(/0+$/, '');
  if (fraction.length > rule.priceDigits) {
    const digits = rule.priceDigits === 0 ? 'no decimals' : `at most ${rule.priceDigits} decimals`;
    return refuse(`${written.slice(0, 40)} is not a price in ${name}: that currency has ${digits}.`);
  }
  const amountMinor = BigInt(`${match[1]}${fraction.padEnd(rule.wireDigits, '0')}`);
  if (amountMinor > LARGEST_MINOR) {
    return refuse(`A price in ${name} is at most ${fromMinorUnits(largest(rule), code)}.`);
  }
  return { outcome: 'converted', amountMinor, currency: code };
}

/** In major units, with the decimals of a price in the currency: 1999 usd is 19.99, 1000 jpy is 1000. */
export function fromMinorUnits(amountMinor: bigint, currency: string): string {
  const { wireDigits, priceDigits } = rules.get(currency.toLowerCase()) ?? { wireDigits: 2, priceDigits: 2 };
  const sign = amountMinor < 0n ? '-' : '';
  const digits = String(amountMinor < 0n ? -amountMinor : amountMinor).padStart(wireDigits + 1, '0');
  const whole = digits.slice(0, digits.length - wireDigits);
  const rest = digits.slice(digits.length - wireDigits);
  // A partial refund may have decimals that a price cannot have: they are shown rather than dropped.
  const fraction = rest.slice(priceDigits).replace(/0+$/, '') === '' ? rest.slice(0, priceDigits) : rest;
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}

function largest({ wireDigits, priceDigits }: CurrencyRule): bigint {
  const step = 10n ** BigInt(wireDigits - priceDigits);
  return LARGEST_MINOR - (LARGEST_MINOR % step);
}

function rows(codes: string, rule: CurrencyRule): [string, CurrencyRule][] {
  return codes
    .trim()
    .split(/\s+/)
    .map((code) => [code, rule]);
}

function refuse(message: string): MinorUnits {
  return { outcome: 'refused', message };
}
