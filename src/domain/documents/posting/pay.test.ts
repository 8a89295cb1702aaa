import { describe, expect, test } from 'bun:test';
import { findSalary } from './pay.ts';

function payIn(text: string): string | null {
  const found = findSalary(text);
  if (found === null) return null;
  const { currency, minValue, maxValue, unitText } = found.value;
  expect(text.slice(found.start, found.end)).toMatch(/\d/);
  return `${currency ?? '-'} ${minValue ?? 'open'} to ${maxValue ?? 'open'} ${unitText ?? '-'}`;
}

describe('G-8 pay by the hour, day, week, month and year, in full and in thousands', () => {
  test.each([
    ['$45/hr', 'USD 45 to 45 HOUR'],
    ['9 euro all’ora', 'EUR 9 to 9 HOUR'],
    ['Stundenlohn: 14€', 'EUR 14 to 14 HOUR'],
    ['£350 per day', 'GBP 350 to 350 DAY'],
    ['TJM 450-550 €', 'EUR 450 to 550 DAY'],
    ['$1,500/week', 'USD 1500 to 1500 WEEK'],
    ['3.200 € brutto im Monat\n- 30 Tage Urlaub', 'EUR 3200 to 3200 MONTH'],
    ['R$ 9.000 por mês', 'BRL 9000 to 9000 MONTH'],
    ['4-5k EUR/month', 'EUR 4000 to 5000 MONTH'],
    ['60.000 – 75.000 € p.a.', 'EUR 60000 to 75000 YEAR'],
    ["CHF 95'000–110'000 p.a.", 'CHF 95000 to 110000 YEAR'],
    ['USD $117,000.00 - USD $166,000.00 /Yr.', 'USD 117000 to 166000 YEAR'],
    ['Salary: $120-180,000 + Bonus', 'USD 120000 to 180000 YEAR'],
    ['50-60 T€', 'EUR 50000 to 60000 YEAR'],
    ['12-18 LPA', 'INR 1200000 to 1800000 YEAR'],
    ['between 40k and 45k GBP', 'GBP 40000 to 45000 YEAR'],
    ['180k+ USD', 'USD 180000 to open YEAR'],
    ['A$120k + super', 'AUD 120000 to 120000 YEAR'],
    ['up to £32K', 'GBP open to 32000 YEAR'],
    ['Java developer, Berlin. 50-60k.', '- 50000 to 60000 YEAR'],
    ['£20 - 3 shifts, per hour £20', 'GBP 20 to 20 HOUR'],
    ['60–75 (USD, in thousands)', 'USD 60000 to 75000 YEAR'],
    ['₹6,00,000 - ₹8,00,000 a year', 'INR 600000 to 800000 YEAR'],
    ['£24,500 rising to £27,000 per annum', 'GBP 24500 to 27000 YEAR'],
    ['Mindestgehalt von EUR 2.800,- brutto pro Monat', 'EUR 2800 to open MONTH'],
    ['$5,000 sign-on bonus, $30/hr', 'USD 30 to 30 HOUR'],
    ['7 500 – 9 000 zł brutto miesięcznie', 'PLN 7500 to 9000 MONTH'],
  ])('%j is %s', (text, pay) => {
    expect(payIn(text)).toBe(pay);
  });

  test.each([
    ['$120,000 CAD', 'CAD 120000 to 120000 YEAR'],
    ['$38.20–$44.75 per hour + super', 'AUD 38.2 to 44.75 HOUR'],
    ['Toronto, ON. $90,000 - $100,000', 'CAD 90000 to 100000 YEAR'],
    ['Auckland, New Zealand. $90,000 per year', 'NZD 90000 to 90000 YEAR'],
    ['Toronto, Canada. USD 90,000 - 100,000', 'USD 90000 to 100000 YEAR'],
  ])('whose dollar: %j is %s', (text, pay) => {
    expect(payIn(text)).toBe(pay);
  });

  test('a unit that only the size of a sum could tell is left open where sizes differ', () => {
    expect(payIn('1 800 PLN netto')).toBe('PLN 1800 to 1800 -');
    expect(payIn('38 000 SEK brutto')).toBe('SEK 38000 to 38000 -');
  });

  test.each([
    'We raised $12 million last year.',
    'Optional 401k with 5% matching',
    'Monthly contribution up to $200 to help you with loans',
    'a relocation package is available (up to $5,000)',
    'a budget of $200,000',
    '10,000 PHP developers',
    'call 555-0142',
    '2019 - 2024, 3-5 years',
    'Salary: competitive',
  ])('%j is no pay', (text) => {
    expect(payIn(text)).toBeNull();
  });
});
