/** The body must already be safe HTML: all external text is passed through `escaped`. */
interface PageOptions {
  readonly title: string;
  readonly body: string;
  readonly status?: number;
  /** Other origins that its forms may lead to: browsers also check the redirects of a form. */
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

/** The decimal places of currencies in the provider's API, which can differ from the runtime's own tables. */
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

/** One style sheet for all pages; it follows the user's preference for light or dark. */
export function styleSheet(): Response {
  const headers = { 'content-type': 'text/css; charset=utf-8', 'cache-control': 'max-age=3600' };
  return new Response(STYLE, { headers: { ...headers, 'x-content-type-options': 'nosniff' } });
}

const STYLE = `:root {
  color-scheme: light dark;
  --ground: light-dark(#f4f5f8, #14161c);
  --card: light-dark(#ffffff, #1e222b);
  --ink: light-dark(#1c2330, #edf0f6);
  --soft: light-dark(#576074, #a5aebf);
  --line: light-dark(#dfe3ea, #343b49);
  --main: light-dark(#3446c4, #8f9cff);
  --on-main: light-dark(#ffffff, #10131a);
  --bad: light-dark(#a8201a, #ff8f88);
  --good: light-dark(#14683b, #6fd69c);
}
* { box-sizing: border-box; }
body {
  margin: 0;
  background: var(--ground);
  color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", sans-serif;
}
.banner { background: #ffd166; color: #2b2100; text-align: center; }
.banner p { margin: 0; padding: 0.45rem 1rem; font-size: 0.9rem; }
main { max-width: 34rem; margin: 0 auto; padding: 2rem 1rem 4rem; display: grid; gap: 1.25rem; }
.card {
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 14px;
  padding: 1.5rem;
  box-shadow: 0 1px 2px rgb(0 0 0 / 6%), 0 8px 24px rgb(0 0 0 / 5%);
}
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 0.25rem; }
h2 { font-size: 1.05rem; margin: 0 0 0.75rem; }
p { margin: 0.25rem 0; }
.soft { color: var(--soft); font-size: 0.92rem; }
.total { font-size: 2rem; font-weight: 650; letter-spacing: -0.02em; margin: 0.25rem 0 1rem; }
table { width: 100%; border-collapse: collapse; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.5rem; }
th, td { text-align: left; padding: 0.55rem 0; border-top: 1px solid var(--line); vertical-align: top; }
th { font-weight: 500; color: var(--soft); font-size: 0.88rem; }
td.amount, th.amount { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.actions { display: grid; gap: 0.6rem; margin-top: 1.25rem; }
button, .button {
  display: block;
  width: 100%;
  padding: 0.8rem 1rem;
  border: 1px solid var(--line);
  border-radius: 10px;
  background: transparent;
  color: var(--ink);
  font: inherit;
  font-weight: 600;
  text-align: center;
  text-decoration: none;
  cursor: pointer;
}
button.main { background: var(--main); border-color: var(--main); color: var(--on-main); }
button.bad { color: var(--bad); }
button:hover, .button:hover { filter: brightness(1.08); }
button:focus-visible, .button:focus-visible, select:focus-visible {
  outline: 3px solid var(--main);
  outline-offset: 2px;
}
select {
  width: 100%;
  padding: 0.65rem;
  margin: 0.35rem 0 0.75rem;
  border: 1px solid var(--line);
  border-radius: 10px;
  background: var(--card);
  color: var(--ink);
  font: inherit;
}
.notice { border-left: 4px solid var(--bad); padding: 0.6rem 0.9rem; margin: 0 0 1rem; background: var(--ground); }
.notice.good { border-color: var(--good); }
.state { font-size: 0.85rem; font-weight: 600; }
@media (prefers-reduced-motion: no-preference) { button, .button { transition: filter 120ms; } }
`;
