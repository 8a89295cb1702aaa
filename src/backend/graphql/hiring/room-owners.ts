import { findCompany } from '../../../domain/accounts/company.ts';
import {
  assignRoom,
  findRoomPrefixes,
  listUnassignedRooms,
  setRoomPrefix,
  type UnassignedRoom,
} from '../../../domain/meetings/room-owners.ts';
import { badInput, conflict, notFound } from '../errors.ts';
import { bounded, idOf } from '../input.ts';
import { defineConnection, numberCursor, type Page, pageArgs, pageOf } from '../paging.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    UnassignedRoom: UnassignedRoom;
    UnassignedRoomConnection: Page<UnassignedRoom>;
  }
}

const objects: Declaration = (builder) => {
  builder.objectType('UnassignedRoom', {
    description: 'A room of the meeting server that no company announced and no operator has assigned.',
    fields: (t) => ({
      room: t.exposeString('room'),
      events: t.int({
        description: 'Events that are stored of it.',
        resolve: ({ eventCount }) => Number(eventCount),
      }),
      firstEventAt: t.expose('firstEventAt', {
        type: 'DateTime',
        description: 'When the first of them was received.',
      }),
      lastEventAt: t.expose('lastEventAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'UnassignedRoom');
  builder.objectField('Company', 'roomPrefix', (t) =>
    t.loadable({
      type: 'String',
      nullable: true,
      description:
        'Rooms of the meeting server whose names begin with it are the company’s. Set by the operator.',
      load: loadPrefixes,
      resolve: ({ id }) => id,
    }),
  );
};

/** One statement for all companies of a response. */
async function loadPrefixes(ids: string[], { parts: { database } }: RequestContext) {
  const prefixes = await findRoomPrefixes(database, ids);
  return ids.map((id) => prefixes.get(id) ?? null);
}

const unassignedRooms: Declaration = (builder) =>
  builder.queryField('unassignedRooms', (t) =>
    t.field({
      type: 'UnassignedRoomConnection',
      description:
        'Rooms of no company, the newest first. Their meetings are stored for 30 days: give a company the rooms with setRoomPrefix or assignRoom.',
      authScopes: { superAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, { parts: { database } }) {
        const { limit, after } = pageArgs(args);
        const rows = await listUnassignedRooms(database, { limit: limit + 1, after: numberCursor(after) });
        return pageOf(rows, limit, ({ number }) => String(number));
      },
    }),
  );

const setPrefix: Declaration = (builder) =>
  builder.mutationField('setRoomPrefix', (t) =>
    t.field({
      type: 'Company',
      description:
        'Announces for a company all rooms whose names begin with the prefix, as far as nothing was reported of them before and no other company announced them. An empty prefix ends that for new rooms. Assign rooms that were reported before with assignRoom.',
      authScopes: { superAdmin: true },
      args: { companyId: t.arg.id({ required: true }), prefix: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const companyId = idOf('company', args.companyId);
        const now = new Date(context.parts.clock.now());
        return await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          const set = await setRoomPrefix(transaction, { companyId, prefix: args.prefix, now });
          switch (set.outcome) {
            case 'invalid':
              throw badInput('prefix', set.message);
            case 'overlaps':
              throw badInput(
                'prefix',
                `company ${set.companyId} has the prefix "${set.prefix}", and one of the two begins with the other`,
              );
            case 'set': {
              const object = { objectKind: 'company', objectId: companyId, companyId };
              await record({ action: 'company.room-prefix-set', ...object, details: { prefix: set.prefix } });
              break;
            }
            case 'unchanged':
              nothingChanged();
              break;
            case 'no-such-company':
          }
          const company = await findCompany(transaction, companyId);
          if (company === null) throw notFound('company');
          return company;
        });
      },
    }),
  );

const assign: Declaration = (builder) =>
  builder.mutationField('assignRoom', (t) =>
    t.field({
      type: 'Meeting',
      description:
        'Gives a room of no company to a company, with the meetings that are stored of it, which are then processed as the company’s. Returns the newest. The company sees who attended: make sure that the room is its own.',
      authScopes: { superAdmin: true },
      args: { room: t.arg.string({ required: true }), companyId: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const companyId = idOf('company', args.companyId);
        const room = bounded('line', 'room', args.room);
        return await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          const assigned = await assignRoom(transaction, context.parts, { room, companyId });
          if (assigned.outcome === 'no-such-company') throw notFound('company');
          if (assigned.outcome === 'no-such-room') throw notFound('room with meetings of the last 30 days');
          if (assigned.outcome === 'taken') throw conflict('This room belongs to another company.');
          const { meeting, isChanged } = assigned;
          const object = { objectKind: 'meeting', objectId: meeting.id, companyId };
          if (isChanged) await record({ action: 'meeting.room-assigned', ...object });
          else nothingChanged();
          return meeting;
        });
      },
    }),
  );

export const roomOwnerDeclarations: readonly Declaration[] = [objects, unassignedRooms, setPrefix, assign];
