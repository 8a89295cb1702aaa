import type { z } from 'zod';

/**
 * The content of a mail, before it is rendered as text or HTML. Templates return this and no markup, so that user input
 * is escaped in one place.
 */
export interface MailContent {
  readonly subject: string;
  readonly heading: string;
  readonly blocks: readonly Block[];
  /** Why the recipient gets this mail. */
  readonly because: string;
}

type Block =
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'facts'; readonly rows: readonly Fact[] }
  | { readonly kind: 'button'; readonly label: string; readonly url: string };

type Fact = readonly [label: string, value: string];

export function paragraph(text: string): Block {
  return { kind: 'paragraph', text };
}

/** Null rows, for unknown facts, are omitted. */
export function facts(...rows: readonly (Fact | null)[]): Block {
  return { kind: 'facts', rows: rows.filter((row) => row !== null) };
}

export function button(label: string, url: string): Block {
  return { kind: 'button', label, url };
}

/** The data of a type of mail, and the content that is written from it. */
export interface Template<Schema extends z.ZodType> {
  readonly data: Schema;
  readonly write: (data: z.output<Schema>, links: ConsoleLinks) => MailContent;
  /** After this time the mail is not sent any more. */
  readonly expiresAt?: (data: z.output<Schema>) => string;
}

export function template<Schema extends z.ZodType>(parts: Template<Schema>): Template<Schema> {
  return parts;
}

interface RenderedMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

const MAX_SUBJECT_CHARACTERS = 200;

/**
 * Renders both formats of a mail. The HTML has no scripts, images or external resources; its tables of facts have row
 * headings, and all of its content is in the plain text too.
 */
export function renderMail(content: MailContent, productName: string): RenderedMail {
  const subject = [...content.subject].slice(0, MAX_SUBJECT_CHARACTERS).join('');
  return { subject, text: asText(content, productName), html: asHtml(content, productName) };
}

function asText({ heading, blocks, because }: MailContent, productName: string): string {
  const parts = [heading, ...blocks.map(blockAsText), `-- \n${productName}. ${because}`];
  return `${parts.join('\n\n')}\n`;
}

function blockAsText(block: Block): string {
  if (block.kind === 'paragraph') return block.text;
  if (block.kind === 'button') return `${block.label}:\n${block.url}`;
  return block.rows.map(([label, value]) => `${label}: ${value}`).join('\n');
}

function asHtml({ subject, heading, blocks, because }: MailContent, productName: string): string {
  return `<!DOCTYPE html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(subject)}</title>
</head>
<body style="margin:0;padding:24px 12px;background-color:#f3f4f6;color:#111827;font-family:Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;background-color:#ffffff;border-radius:8px;"><tr><td style="padding:32px;text-align:left;overflow-wrap:anywhere;">
<p style="margin:0 0 24px;font-weight:bold;color:#1d4ed8;">${escapeHtml(productName)}</p>
<h1 style="margin:0 0 16px;font-size:22px;line-height:1.3;">${escapeHtml(heading)}</h1>
${blocks.map(blockAsHtml).join('\n')}
<hr style="border:0;border-top:1px solid #d1d5db;margin:32px 0 16px;">
<p style="margin:0;font-size:13px;color:#4b5563;">${escapeHtml(because)}</p>
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}

function blockAsHtml(block: Block): string {
  if (block.kind === 'paragraph') return `<p style="margin:0 0 16px;">${escapeHtml(block.text)}</p>`;
  if (block.kind === 'button') return buttonAsHtml(block.label, block.url);
  const rows = block.rows.map(
    ([label, value]) =>
      `<tr><th scope="row" align="left" style="padding:4px 16px 4px 0;font-weight:normal;color:#4b5563;vertical-align:top;">${escapeHtml(label)}</th>` +
      `<td style="padding:4px 0;font-weight:bold;">${escapeHtml(value)}</td></tr>`,
  );
  return `<table cellpadding="0" cellspacing="0" style="margin:0 0 16px;">${rows.join('')}</table>`;
}

/** Also shows the address below the button: some programs show no buttons, and careful readers want to see it. */
function buttonAsHtml(label: string, url: string): string {
  const href = escapeHtml(url);
  return (
    `<p style="margin:24px 0 8px;"><a href="${href}" style="display:inline-block;padding:12px 20px;background-color:#1d4ed8;color:#ffffff;border-radius:6px;text-decoration:none;font-weight:bold;">${escapeHtml(label)}</a></p>\n` +
    `<p style="margin:0 0 16px;font-size:13px;color:#4b5563;">Or open this address: <a href="${href}" style="color:#1d4ed8;">${href}</a></p>`
  );
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

/** The console pages that mails link to. */
export interface ConsoleLinks {
  readonly home: string;
  readonly billing: string;
  readonly budgets: string;
  readonly keys: string;
  readonly alerts: string;
  readonly companies: string;
  readonly withheldUsage: string;
  readonly auditReport: string;
  meeting(meetingId: string): string;
  invitation(token: string): string;
  passwordReset(token: string): string;
  emailVerification(token: string): string;
}

/**
 * `consoleUrl` is the public address of the console. Tokens are in the fragment after `#`, which browsers do not send,
 * so they appear in no server log and in no Referer.
 */
export function createConsoleLinks(consoleUrl: string): ConsoleLinks {
  const base = readBase(consoleUrl);
  const page = (path: string) => `${base}/${path}`;
  return {
    home: page(''),
    billing: page('billing'),
    budgets: page('budgets'),
    keys: page('keys'),
    alerts: page('alerts'),
    companies: page('companies'),
    withheldUsage: page('withheld-usage'),
    auditReport: page('audit-report'),
    meeting: (meetingId) => page(`meetings/${encodeURIComponent(meetingId)}`),
    invitation: (token) => page(`invitation#token=${encodeURIComponent(token)}`),
    passwordReset: (token) => page(`reset-password#token=${encodeURIComponent(token)}`),
    emailVerification: (token) => page(`verify-email#token=${encodeURIComponent(token)}`),
  };
}

function readBase(consoleUrl: string): string {
  const url = URL.parse(consoleUrl);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new TypeError('the console’s address must begin with http:// or https://');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
