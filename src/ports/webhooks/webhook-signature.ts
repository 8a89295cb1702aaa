import { createHmac } from 'node:crypto';

/**
 * The signature of a webhook, in the form of Stripe's: `t=<seconds>,v1=<HMAC-SHA256 of "t.body", in hexadecimal>`, with
 * one `v1` a secret. Receivers reject a timestamp that is more than five minutes off, so a recorded request is of no use later.
 * Not by WebCrypto: its promises resolve from a thread, and a simulated run would not be the same twice.
 */
export function signWebhook(body: string, secrets: readonly string[], nowMs: number): string {
  const timestamp = Math.floor(nowMs / 1000);
  const signed = `${timestamp}.${body}`;
  const parts = secrets.map((secret) => `v1=${createHmac('sha256', secret).update(signed).digest('hex')}`);
  return [`t=${timestamp}`, ...parts].join(',');
}
