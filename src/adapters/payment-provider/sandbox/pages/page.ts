/** A page is text that is already safe: whatever comes from outside goes through `escaped` on its way in. */
export interface PageOptions {
  readonly title: string;
  readonly body: string;
  readonly status?: number;
  /** Where its forms may lead, besides here: a browser checks what a form is redirected to, too. */
  readonly formTargets?: readonly (string | null)[];
}

const NO_CACHE = 'no-store';

export function page({ title, body, status = 200, formTargets = [] }: PageOptions): Response {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escaped(title)} · Payment sandbox</title>
<link rel="stylesheet" href="/sandbox/style.css">
</head>
<body>
<header class="banner" role="banner"><p><strong>Payment sandbox</strong> Nothing here costs real money.</p></header>
<main>
${body}
</main>
</body>
</html>
`;
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': NO_CACHE,
      'content-security-policy': policy(formTargets),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    },
  });
}

function policy(formTargets: readonly (string | null)[]): string {
  const origins = formTargets.flatMap((target) => URL.parse(target ?? '')?.origin ?? []);
  const forms = [...new Set(["'self'", ...origins])].join(' ');
  return `default-src 'none'; style-src 'self'; form-action ${forms}; base-uri 'none'; frame-ancestors 'none'`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/** Of the wire's minor units; the browser's own knowledge of currencies is not asked, for the wire has its own. */
const NO_DIGITS = new Set('bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '));
const THREE_DIGITS = new Set('bhd jod kwd omr tnd'.split(' '));

export function money(amountMinor: number, currency: string): string {
  const digits = NO_DIGITS.has(currency) ? 0 : THREE_DIGITS.has(currency) ? 3 : 2;
  const sign = amountMinor < 0 ? '−' : '';
  const written = String(Math.abs(amountMinor)).padStart(digits + 1, '0');
  const whole = written.slice(0, written.length - digits).replace(/\B(?=(?:\d{3})+$)/g, ',');
  const fraction = digits === 0 ? '' : `.${written.slice(-digits)}`;
  return `${sign}${whole}${fraction} ${currency.toUpperCase()}`;
}

export function day(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

export function seeOther(location: string): Response {
  const headers = { location, 'cache-control': NO_CACHE, 'referrer-policy': 'no-referrer' };
  return new Response(null, { status: 303, headers });
}

export function notFoundPage(): Response {
  const body = `<section class="card"><h1>There is no such page</h1>
<p>The link may be from another sandbox, or its data was deleted. Start again where you came from.</p></section>`;
  return page({ title: 'Not found', body, status: 404 });
}
