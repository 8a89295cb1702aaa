import { httpUrl, networks, oneOf, secret, text, whole } from './setting-forms.ts';

/** The settings of outgoing webhooks, as rows of the table in settings.ts. */

export const ALERT_SETTINGS = {
  ALERT_PRIVATE_NETWORKS: networks(
    'Inside networks to which the alert webhooks of companies may go, such as 10.0.0.0/8, with commas. In production, or where it is set, every other host inside is refused, and so is `http://` where it is not set. docs/alerts.md.',
  ),
  ALERT_DELIVERIES_KEEP_DAYS: whole(1, 400, 30, 'How long the delivery log of alert channels goes back.'),
};

export const CALL_HOOK_SETTINGS = {
  CALL_HOOK_BEFORE_URL: httpUrl(
    null,
    'A webhook that decides on every model call before it runs: allow, block, or replace the body. It receives prompts. If it is not set, calls are not delayed. docs/hooks.md.',
  ),
  CALL_HOOK_AFTER_URL: httpUrl(
    null,
    'A webhook that receives the records of finished calls in batches, without prompts and answers. docs/hooks.md.',
  ),
  CALL_HOOK_SECRET: secret('Signs the requests to both hooks; at least 32 characters. Needed with either.'),
  CALL_HOOK_SECRET_FILE: text(null, 'Path of a file that contains the value.'),
  CALL_HOOK_SECRET_ALSO: secret(
    'A second secret that also signs, so that receivers can verify either one during a rotation: docs/operations.md.',
  ),
  CALL_HOOK_TIMEOUT_MS: whole(50, 60_000, 2_000, 'How long the hook before calls may take to decide.'),
  CALL_HOOK_FAILURE: oneOf(
    ['closed', 'open'],
    'closed',
    'What happens to calls while the pre-call hook gives no decision: refused with 503, or allowed.',
  ),
  CALL_HOOK_MAX_BODY_BYTES: whole(
    1_024,
    20 * 1024 * 1024,
    1024 * 1024,
    'The largest body that is sent to the pre-call hook. For a larger one, only its size is sent.',
  ),
  CALL_HOOK_DELIVERIES_KEEP_DAYS: whole(
    1,
    400,
    7,
    'How long the delivery log of the hook after calls goes back.',
  ),
};
