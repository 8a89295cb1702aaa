/** One sheet for all pages; it follows the reader's preference for light or dark. */
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
