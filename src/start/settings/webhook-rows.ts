import { networks, whole } from './setting-forms.ts';

/** The settings of webhooks that we send, as rows of the table in settings.ts. */

export const ALERT_SETTINGS = {
  ALERT_PRIVATE_NETWORKS: networks(
    'Inside networks to which the alert webhooks of companies may go, such as 10.0.0.0/8, with commas. In production, or where it is set, every other host inside is refused, and so is `http://` where it is not set. docs/alerts.md.',
  ),
  ALERT_DELIVERIES_KEEP_DAYS: whole(1, 400, 30, 'How long the delivery log of alert channels goes back.'),
};
