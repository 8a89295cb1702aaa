import { ALERT_EVENTS, type AlertEventKind } from '../../../domain/alerts/alert-events.ts';
import {
  ALERT_CHANNEL_KINDS,
  type AlertChannel,
  type AlertChannelKind,
  type ChannelOwner,
  channelAddressProblem,
  createChannel,
  deleteChannel,
  findChannel,
  kindsFor,
  listChannels,
  MOST_CHANNELS,
  mailReceiver,
  rotateSecret,
  type SavedChannel,
  updateChannel,
} from '../../../domain/alerts/channels.ts';
import { lastDeliveries, listDeliveries, sendTest } from '../../../domain/alerts/deliveries.ts';
import type { Transaction } from '../../../ports/database.ts';
import { countAttempt, signedIn } from '../access.ts';
import { badInput, conflict, forbidden, notFound } from '../errors.ts';
import { bounded, boundedOrNull, idOf } from '../input.ts';
import { idCursor, pageArgs, pageOf } from '../paging.ts';
import type { FieldSize } from '../query-cost.ts';
import { type ChangeRecord, recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { alertChannelObjects, type SecretOnce, type ShownChannel } from './alert-channel-objects.ts';

const OPERATORS = 'True for the channels of the operators (super admins); by default those of your company.';

const alertChannels: Declaration = (builder) => {
  builder.queryField('alertChannels', (t) =>
    t.field({
      type: ['AlertChannel'],
      authScopes: { companyAdmin: true, superAdmin: true },
      args: { operators: t.arg.boolean({ description: OPERATORS }) },
      extensions: { maxRows: MOST_CHANNELS } satisfies FieldSize,
      async resolve(_root, { operators }, context) {
        const owner = await ownerOf(context, operators);
        return [...(await shown(context, await listChannels(context.parts.database, owner)))];
      },
    }),
  );
  builder.queryField('alertEventKinds', (t) =>
    t.field({
      type: ['AlertEventRow'],
      description: 'The kinds of alerts that a channel can get.',
      authScopes: { companyAdmin: true, superAdmin: true },
      args: { operators: t.arg.boolean({ description: OPERATORS }) },
      extensions: { maxRows: 50 } satisfies FieldSize,
      async resolve(_root, { operators }, context) {
        const kinds = kindsFor(await ownerOf(context, operators));
        return kinds.map((kind) => ({
          ...{ kind, name: ALERT_EVENTS[kind].name, meaning: ALERT_EVENTS[kind].meaning },
        }));
      },
    }),
  );
  builder.queryField('alertDeliveries', (t) =>
    t.field({
      type: 'AlertDeliveryConnection',
      description: 'The delivery log of a channel, newest first.',
      authScopes: { companyAdmin: true, superAdmin: true },
      args: {
        channelId: t.arg.id({ required: true }),
        first: t.arg.int(),
        after: t.arg.id(),
      },
      async resolve(_root, args, context) {
        const { limit, after } = pageArgs(args);
        const channel = await channelOf(context, args.channelId);
        const page = { limit: limit + 1, after: idCursor(after) };
        const rows = await listDeliveries(context.parts.database, channel, page);
        return pageOf(rows, limit, ({ id }) => id);
      },
    }),
  );
};

const saveAlertChannel: Declaration = (builder) => {
  const created = builder.inputType('CreateAlertChannelInput', {
    fields: (t) => ({
      kind: t.field({ type: 'AlertChannelKind', required: true }),
      name: t.string({ required: true, description: '1 to 100 characters.' }),
      address: t.string({
        required: true,
        description: 'EMAIL: the e-mail address of a member. Otherwise a URL that begins with https://.',
      }),
      isOn: t.boolean({ description: 'True by default.' }),
      events: t.field({ type: ['AlertEventKind'], description: 'All kinds of alerts by default.' }),
      operators: t.boolean({ description: OPERATORS }),
    }),
  });
  const updated = builder.inputType('UpdateAlertChannelInput', {
    fields: (t) => ({
      version: t.int({
        required: true,
        description:
          'The version of the channel that you loaded. Refused with CONFLICT if it was saved since.',
      }),
      name: t.string({ required: true }),
      address: t.string({ description: 'Omitted: unchanged.' }),
      isOn: t.boolean({ required: true }),
      events: t.field({ type: ['AlertEventKind'], description: 'Null or left out: all kinds of alerts.' }),
    }),
  });
  builder.mutationField('createAlertChannel', (t) =>
    t.field({
      type: 'AlertChannelWithSecret',
      description: `Adds a channel: at most ${MOST_CHANNELS}.`,
      authScopes: { companyAdmin: true, superAdmin: true },
      args: { input: t.arg({ type: created, required: true }) },
      async resolve(_root, { input }, context) {
        const owner = await ownerOf(context, input.operators);
        const { kind } = input;
        if (!ALERT_CHANNEL_KINDS.includes(kind)) throw badInput('input.kind', 'it is not known');
        const params = { ...channelParams(input), kind, isOn: input.isOn ?? true };
        await refuseAddress(context, kind, params.address);
        return await saved(context, 'alert-channel.created', (transaction) =>
          createChannel(channelParts(context), transaction, owner, params),
        );
      },
    }),
  );
  builder.mutationField('updateAlertChannel', (t) =>
    t.field({
      type: 'AlertChannel',
      authScopes: { companyAdmin: true, superAdmin: true },
      args: { id: t.arg.id({ required: true }), input: t.arg({ type: updated, required: true }) },
      async resolve(_root, { id, input }, context) {
        const found = await channelOf(context, id);
        const params = { ...channelParams(input), isOn: input.isOn, version: input.version };
        if (params.address !== null) await refuseAddress(context, found.kind, params.address);
        const { alertChannel } = await saved(context, 'alert-channel.changed', (transaction) =>
          updateChannel(channelParts(context), transaction, found, params),
        );
        return alertChannel;
      },
    }),
  );
};

const changeAlertChannel: Declaration = (builder) => {
  builder.mutationField('rotateAlertChannelSecret', (t) =>
    t.field({
      type: 'AlertChannelWithSecret',
      description:
        'Generates a new signing secret for a WEBHOOK. For one day, requests are also signed with the previous one.',
      authScopes: { companyAdmin: true, superAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, { id }, context) {
        const found = await channelOf(context, id);
        return await saved(context, 'alert-channel.secret-rotated', (transaction) =>
          rotateSecret(channelParts(context), transaction, found),
        );
      },
    }),
  );
  builder.mutationField('deleteAlertChannel', (t) =>
    t.field({
      type: 'Boolean',
      description: 'Deletes the channel and its delivery log. Pending deliveries are dropped.',
      authScopes: { companyAdmin: true, superAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, { id }, context) {
        const found = await channelOf(context, id);
        return await recordedChange(context, async ({ transaction, record }) => {
          if (!(await deleteChannel(transaction, found))) throw notFound('alert channel');
          await record(recordOf('alert-channel.deleted', found));
          return true;
        });
      },
    }),
  );
  builder.mutationField('testAlertChannel', (t) =>
    t.field({
      type: 'AlertDelivery',
      description: 'Sends a test alert immediately, even if the channel is off, and returns the result.',
      authScopes: { companyAdmin: true, superAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, { id }, context) {
        const { parts } = context;
        const found = await channelOf(context, id);
        await countAttempt(context, 'alert-test', found.companyId ?? 'operators');
        const { webhooks } = parts.alertRules;
        const delivery = await sendTest({ ...parts, webhooks, mail: parts.mailOutbox }, found);
        if (delivery === null) throw notFound('alert channel');
        await recordedChange(context, ({ record }) => record(recordOf('alert-channel.tested', found)));
        return delivery;
      },
    }),
  );
};

/** The owner of the channels: a company admin's company, or the operators. */
async function ownerOf(
  context: RequestContext,
  operators: boolean | null | undefined,
): Promise<ChannelOwner> {
  const owners = await ownersOf(context);
  const owner = operators == null ? owners[0] : operators ? null : owners.find((one) => one !== null);
  if (owner === undefined || !owners.includes(owner)) throw forbidden();
  return owner;
}

async function ownersOf(context: RequestContext): Promise<readonly ChannelOwner[]> {
  const { companyId, role, isSuperAdmin } = await signedIn(context);
  const own = companyId !== null && role === 'COMPANY_ADMIN' ? [companyId] : [];
  return isSuperAdmin ? [...own, null] : own;
}

async function channelOf(context: RequestContext, id: string | number): Promise<AlertChannel> {
  const owners = await ownersOf(context);
  const found = await findChannel(context.parts.database, owners, idOf('alert channel', id));
  if (found === null) throw notFound('alert channel');
  return found;
}

function channelParts({ parts }: RequestContext) {
  return { ...parts, rules: parts.alertRules };
}

interface GivenChannel {
  readonly name: string;
  readonly address?: string | null | undefined;
  readonly events?: readonly AlertEventKind[] | null | undefined;
}

function channelParams({ name, address, events }: GivenChannel) {
  return {
    name: bounded('line', 'input.name', name),
    address: boundedOrNull('technical', 'input.address', address),
    eventKinds: boundedOrNull('words', 'input.events', events),
  };
}

/** Before the transaction, because it resolves a host name. */
async function refuseAddress(
  { parts }: RequestContext,
  kind: AlertChannelKind,
  address: string | null,
): Promise<void> {
  const problem = address === null ? null : await channelAddressProblem(parts.alertRules, kind, address);
  if (problem !== null) throw badInput('input.address', problem);
}

async function saved(
  context: RequestContext,
  action: string,
  save: (transaction: Transaction) => Promise<SavedChannel>,
): Promise<SecretOnce> {
  const { channel, secret } = await recordedChange(context, async ({ transaction, record }) => {
    const outcome = await save(transaction);
    switch (outcome.outcome) {
      case 'saved':
        await record(recordOf(action, outcome.channel));
        return outcome;
      case 'refused':
        throw badInput(`input.${outcome.field}`, outcome.problem);
      case 'too-many':
        throw conflict(`There are ${MOST_CHANNELS} alert channels already. Delete one first.`);
      case 'outdated':
        throw conflict(
          'The alert channel was changed after you loaded it. Load it again and repeat your change.',
        );
      case 'unknown':
        throw notFound('alert channel');
    }
  });
  const [alertChannel] = await shown(context, [channel]);
  if (alertChannel === undefined) throw notFound('alert channel');
  return { alertChannel, secret };
}

function recordOf(
  action: string,
  { id, companyId, kind, name, isOn, eventKinds }: AlertChannel,
): ChangeRecord {
  const details = { kind, name, isOn, events: eventKinds === null ? null : [...eventKinds] };
  return { action, objectKind: 'alert-channel', objectId: id, companyId, details };
}

async function shown(
  { parts }: RequestContext,
  channels: readonly AlertChannel[],
): Promise<readonly ShownChannel[]> {
  const last = await lastDeliveries(
    parts.database,
    channels.map(({ id }) => id),
  );
  return await Promise.all(
    channels.map(async (channel) => ({
      ...channel,
      email: (await mailReceiver(parts.database, channel))?.email ?? null,
      last: last.get(channel.id) ?? null,
    })),
  );
}

export const alertChannelDeclarations: readonly Declaration[] = [
  ...alertChannelObjects,
  alertChannels,
  saveAlertChannel,
  changeAlertChannel,
];
