import {
  isReady,
  listProcesses,
  type MachineReport,
  type ReadinessPart,
  type ServiceProcess,
} from '../../../domain/processes/service-processes.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    ServiceProcess: ServiceProcess;
    ReadinessPart: ReadinessPart;
    MachineFigures: MachineReport;
  }
  interface SchemaScalars {
    ReadinessStatus: ReadinessPart['status'];
  }
}

const serviceProcessObjects: Declaration = (builder) => {
  builder.enumType('ReadinessStatus', {
    values: {
      UP: { value: 'up' },
      DOWN: { value: 'down' },
      RUNNING: { value: 'running' },
      FAILING: { value: 'failing', description: 'It is retrying, and work is waiting.' },
      STOPPED: { value: 'stopped', description: 'An operator stopped it.' },
    } as const,
  });
  builder.objectType('ReadinessPart', {
    description: 'A dependency of a process, or a worker that runs in it.',
    fields: (t) => ({
      name: t.exposeString('name'),
      status: t.expose('status', { type: 'ReadinessStatus' }),
      latencyMs: t.exposeFloat('latencyMs', { nullable: true }),
    }),
  });
  builder.objectType('MachineFigures', {
    description: 'The machine or container that a process runs on.',
    fields: (t) => ({
      cpuCount: t.exposeInt('cpuCount'),
      cpuUsedShare: t.exposeFloat('cpuUsedShare', {
        description: 'Of all cores, 0 to 1, since the last report.',
      }),
      load1: t.exposeFloat('load1', { description: 'Load average over one minute.' }),
      memoryUsedBytes: t.exposeFloat('memoryUsedBytes'),
      memoryBytes: t.exposeFloat('memoryBytes', {
        description: 'All memory, or the limit of the container where that is lower.',
      }),
      diskUsedBytes: t.float({
        nullable: true,
        description: 'Of the file system of DATA_DIR; null where it cannot be read.',
        resolve: ({ disk }) => disk?.usedBytes ?? null,
      }),
      diskBytes: t.float({ nullable: true, resolve: ({ disk }) => disk?.totalBytes ?? null }),
    }),
  });
  builder.objectType('ServiceProcess', {
    description: 'A process of the platform, by its last heartbeat. Processes send one every five seconds.',
    fields: (t) => ({
      id: t.exposeID('id'),
      services: t.field({
        type: ['String'],
        description: 'The services that run in it: gateway, backend, ai-service.',
        resolve: ({ services }) => [...services],
      }),
      host: t.exposeString('host'),
      pid: t.exposeInt('pid'),
      version: t.exposeString('version'),
      startedAt: t.expose('startedAt', { type: 'DateTime' }),
      seenAt: t.expose('seenAt', { type: 'DateTime' }),
      uptimeSeconds: t.int({
        description: 'Until its last heartbeat.',
        resolve: ({ startedAt, seenAt }) =>
          Math.max(0, Math.floor((seenAt.getTime() - startedAt.getTime()) / 1_000)),
      }),
      isStale: t.exposeBoolean('isStale', {
        description:
          'No heartbeat for 20 seconds: it hangs, is disconnected or has exited. Removed after an hour.',
      }),
      isReady: t.boolean({ resolve: isReady }),
      parts: t.field({ type: ['ReadinessPart'], resolve: ({ report }) => [...report.parts] }),
      cpuSeconds: t.float({ resolve: ({ report }) => report.cpuSeconds }),
      residentBytes: t.float({ resolve: ({ report }) => report.residentBytes }),
      eventLoopDelayMs: t.float({
        description: 'Recent event loop delay, 99th percentile.',
        resolve: ({ report }) => report.eventLoopDelayMs,
      }),
      machine: t.field({
        type: 'MachineFigures',
        nullable: true,
        description: 'Null for a process of a version that does not report it.',
        resolve: ({ report }) => report.machine ?? null,
      }),
      activeJobs: t.int({ nullable: true, resolve: ({ report }) => report.workers?.active ?? null }),
      idleWorkers: t.int({ nullable: true, resolve: ({ report }) => report.workers?.idle ?? null }),
    }),
  });
};

const serviceProcesses: Declaration = (builder) =>
  builder.queryField('serviceProcesses', (t) =>
    t.field({
      type: ['ServiceProcess'],
      description: 'Every process of every service, those with a current heartbeat first.',
      authScopes: { superAdmin: true },
      async resolve(_root, _args, { parts: { database, databaseClock } }) {
        return [...(await listProcesses(database, databaseClock.now()))];
      },
    }),
  );

export const processDeclarations: readonly Declaration[] = [serviceProcessObjects, serviceProcesses];
