import { ALERT_EVENT_KINDS, ALERT_EVENTS, type AlertEventKind } from '../../../domain/alerts/alert-events.ts';
import type { AlertChannel, AlertChannelKind } from '../../../domain/alerts/channels.ts';
import type { AlertDelivery } from '../../../domain/alerts/deliveries.ts';
import { defineConnection, type Page } from '../paging.ts';
import type { FieldSize } from '../query-cost.ts';
import type { Declaration } from '../schema-builder.ts';

interface AlertKindRow {
  readonly kind: AlertEventKind;
  readonly name: string;
  readonly meaning: string;
}

export interface SecretOnce {
  readonly alertChannel: ShownChannel;
  readonly secret: string | null;
}

/** With the recipients of its mails and its newest delivery. */
export interface ShownChannel extends AlertChannel {
  readonly email: string | null;
  readonly last: AlertDelivery | null;
}

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    AlertChannel: ShownChannel;
    AlertChannelWithSecret: SecretOnce;
    AlertDelivery: AlertDelivery;
    AlertDeliveryConnection: Page<AlertDelivery>;
    AlertEventRow: AlertKindRow;
  }
  interface SchemaScalars {
    AlertChannelKind: AlertChannelKind;
    AlertDeliveryState: AlertDelivery['state'];
    AlertEventKind: AlertEventKind;
  }
}

const deliveryObjects: Declaration = (builder) => {
  builder.enumType('AlertChannelKind', {
    values: {
      EMAIL: { description: 'E-mail to a member of the company.' },
      WEBHOOK: { description: 'A signed POST with the alert as JSON: docs/alerts.md.' },
      SLACK: { description: 'An incoming webhook of Slack, or of what takes the same: {"text": …}.' },
    },
  });
  builder.enumType('AlertEventKind', {
    values: Object.fromEntries(
      ALERT_EVENT_KINDS.map((kind) => [kind, { description: ALERT_EVENTS[kind].meaning }]),
    ) as Record<AlertEventKind, { description: string }>,
  });
  builder.enumType('AlertDeliveryState', { values: ['WAITING', 'DELIVERED', 'FAILED'] as const });
  builder.objectType('AlertEventRow', {
    description: 'A kind of alert with its description.',
    fields: (t) => ({
      kind: t.expose('kind', { type: 'AlertEventKind' }),
      name: t.exposeString('name'),
      meaning: t.exposeString('meaning'),
    }),
  });
  builder.objectType('AlertDelivery', {
    description: 'The delivery of an alert to a channel.',
    fields: (t) => ({
      id: t.exposeID('id'),
      event: t.exposeString('eventKind', { description: 'A kind of alert, or TEST.' }),
      eventId: t.exposeString('eventId', {
        description: 'The id in the payload: the same in every attempt.',
      }),
      state: t.expose('state', {
        type: 'AlertDeliveryState',
        description: 'For EMAIL, DELIVERED means that the e-mail was added to the mail queue.',
      }),
      attempts: t.exposeInt('attempts'),
      httpStatus: t.exposeInt('httpStatus', { nullable: true, description: 'Of the last attempt.' }),
      error: t.exposeString('error', { nullable: true, description: 'Why the last attempt failed.' }),
      durationMs: t.exposeInt('durationMs', { nullable: true }),
      attemptedAt: t.expose('attemptedAt', { type: 'DateTime', nullable: true }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      payload: t.exposeString('payload', {
        description: 'The alert as JSON.',
        extensions: { maxCharacters: 16_384 } satisfies FieldSize,
      }),
    }),
  });
  defineConnection(builder, 'AlertDelivery');
};

const channelObjects: Declaration = (builder) => {
  builder.objectType('AlertChannel', {
    description: 'A destination of alerts in addition to the e-mail recipients of alertSettings.',
    fields: (t) => ({
      id: t.exposeID('id'),
      kind: t.expose('kind', { type: 'AlertChannelKind' }),
      name: t.exposeString('name'),
      isOn: t.exposeBoolean('isOn'),
      events: t.field({
        type: ['AlertEventKind'],
        nullable: true,
        description: 'The kinds of alerts that it gets. Null: all of them.',
        resolve: ({ eventKinds }) => eventKinds && [...eventKinds],
      }),
      address: t.string({
        nullable: true,
        description:
          'An e-mail address, or the beginning of a URL; the rest of it is not shown. Null where the person left the company.',
        resolve: ({ email, shownAddress }) => email ?? shownAddress,
      }),
      lastDelivery: t.field({ type: 'AlertDelivery', nullable: true, resolve: ({ last }) => last }),
      oldSecretUntil: t.expose('oldSecretUntil', {
        type: 'DateTime',
        nullable: true,
        description: 'Until then, requests are also signed with the previous secret.',
      }),
      version: t.exposeInt('version', { description: 'updateAlertChannel takes the one that you changed.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
    }),
  });
  builder.objectType('AlertChannelWithSecret', {
    fields: (t) => ({
      alertChannel: t.field({ type: 'AlertChannel', resolve: ({ alertChannel }) => alertChannel }),
      secret: t.exposeString('secret', {
        nullable: true,
        description: 'The signing secret of a WEBHOOK. Shown only once; null for other kinds.',
      }),
    }),
  });
};

export const alertChannelObjects: readonly Declaration[] = [deliveryObjects, channelObjects];
