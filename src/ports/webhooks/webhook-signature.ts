/**
 * The signature of a webhook, in the form of Stripe's: `t=<seconds>,v1=<HMAC-SHA256 of "t.body", in hexadecimal>`, with
 * one `v1` a secret. Receivers reject a timestamp that is more than five minutes off, so a recorded request is of no use later.
 */
export async function signWebhook(body: string, secrets: readonly string[], nowMs: number): Promise<string> {
  const timestamp = Math.floor(nowMs / 1000);
  const signed = utf8.encode(`${timestamp}.${body}`);
  const parts = await Promise.all(secrets.map(async (secret) => `v1=${await hmac(secret, signed)}`));
  return [`t=${timestamp}`, ...parts].join(',');
}

const utf8 = new TextEncoder();
const HMAC = { name: 'HMAC', hash: 'SHA-256' };

async function hmac(secret: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const key = await crypto.subtle.importKey('raw', utf8.encode(secret), HMAC, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes)).toHex();
}
