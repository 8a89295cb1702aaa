import { List } from '../parts/list.tsx';
import { Bones, Card, Figure, InOrder, type Mood, Notice, Page, Problem, Tag } from '../parts/page.tsx';
import { count, duration, exact, latency, secondsUntil } from '../parts/words.tsx';
import { graphql, type RowOf } from '../session/graphql.ts';
import { useQuery } from '../session/use-query.ts';

const PROCESSES =
  graphql(`{ serviceProcesses { id services host pid version startedAt seenAt uptimeSeconds isStale
  isReady parts { name status latencyMs } machine { cpuCount cpuUsedShare load1 memoryUsedBytes memoryBytes
  diskUsedBytes diskBytes } residentBytes eventLoopDelayMs activeJobs idleWorkers } }`);
const LOOK_EVERY_MS = 3_000;
const SERVICES = [
  ['gateway', 'Gateway'],
  ['backend', 'Backend'],
  ['ai-service', 'AI service'],
] as const;
const MOODS: Record<Part['status'], Mood> = {
  UP: 'good',
  RUNNING: 'good',
  DOWN: 'bad',
  FAILING: 'bad',
  STOPPED: 'warn',
};
const MEGABYTE = 1024 * 1024;

type Process = RowOf<typeof PROCESSES>;
type Part = Process['parts'][number];

export function Services() {
  const result = useQuery(PROCESSES, {}, LOOK_EVERY_MS);
  const processes = result.data?.serviceProcesses ?? null;
  const versions = [
    ...new Set((processes ?? []).filter(({ isStale }) => !isStale).map((one) => one.version)),
  ];
  return (
    <Page
      title="Services"
      says="Every process of every service, by its heartbeat every five seconds. Processes that stop reporting are shown for an hour."
    >
      {processes !== null && <Problem error={result.error} />}
      <InOrder>
        {processes === null ? (
          result.error === null && <Bones />
        ) : (
          <div className="columns">
            {SERVICES.map(([service, name]) => (
              <ServiceFigure
                key={service}
                name={name}
                all={processes.filter((one) => one.services.includes(service))}
              />
            ))}
          </div>
        )}
        {versions.length > 1 && (
          <Notice mood="warn">Different versions run side by side: {versions.join(', ')}.</Notice>
        )}
        <Machines processes={processes} />
        <Card title="Processes">
          <List
            label="Processes"
            rows={processes}
            error={processes === null ? result.error : null}
            retry={result.reload}
            keyOf={({ id }) => id}
            nothing="No process has sent a heartbeat"
            empty={<p>They do within seconds of their start.</p>}
            columns={[
              { name: 'Process', show: (process) => <Who {...process} /> },
              { name: 'State', show: (process) => <State {...process} /> },
              { name: 'Parts', show: ({ parts }) => <Parts parts={parts} /> },
              {
                name: 'Up',
                isNumber: true,
                show: ({ startedAt, uptimeSeconds }) => (
                  <span title={exact(startedAt)}>{duration(uptimeSeconds)}</span>
                ),
              },
              { name: 'Load', show: (process) => <Load {...process} /> },
            ]}
          />
        </Card>
      </InOrder>
    </Page>
  );
}

/** Each host once, as reported by the process that was seen last. */
function Machines({ processes }: { processes: readonly Process[] | null }) {
  const byHost = new Map<string, Process>();
  for (const process of processes ?? []) {
    const before = byHost.get(process.host);
    if (process.isStale || process.machine === null) continue;
    if (before === undefined || before.seenAt < process.seenAt) byHost.set(process.host, process);
  }
  return (
    <Card title="Machines">
      <List
        label="Machines"
        rows={processes === null ? null : [...byHost.values()]}
        error={null}
        retry={() => {}}
        keyOf={({ host }) => host}
        nothing="No machine has been reported"
        empty={<p>Processes report their machine within seconds of their start.</p>}
        columns={[
          { name: 'Machine', show: ({ host }) => host },
          {
            name: 'CPU',
            show: ({ machine }) =>
              machine !== null && (
                <>
                  {percent(machine.cpuUsedShare)} of {cores(machine.cpuCount)}
                  <div className="quiet small">load {machine.load1.toFixed(2)}</div>
                </>
              ),
          },
          {
            name: 'Memory',
            show: ({ machine }) => machine !== null && used(machine.memoryUsedBytes, machine.memoryBytes),
          },
          {
            name: 'Disk',
            show: ({ machine }) =>
              machine !== null &&
              (machine.diskUsedBytes === null || machine.diskBytes === null
                ? 'not readable'
                : used(machine.diskUsedBytes, machine.diskBytes)),
          },
        ]}
      />
    </Card>
  );
}

function used(usedBytes: number, allBytes: number) {
  const gigabytes = (bytes: number) => (bytes / 1024 ** 3).toFixed(1);
  return (
    <>
      {percent(usedBytes / allBytes)}
      <div className="quiet small">
        {gigabytes(usedBytes)} of {gigabytes(allBytes)} GB
      </div>
    </>
  );
}

function percent(share: number): string {
  return `${Math.round(Math.min(1, share) * 100)}%`;
}

function cores(number: number): string {
  return number === 1 ? 'one core' : `${count(number)} cores`;
}

function ServiceFigure({ name, all }: { name: string; all: readonly Process[] }) {
  const live = all.filter(({ isStale }) => !isStale);
  const ready = live.filter(({ isReady }) => isReady).length;
  const stale = all.length - live.length;
  const word = live.length === 0 ? 'Not running' : ready === live.length ? 'Ready' : 'In trouble';
  const mood = live.length === 0 || ready === 0 ? 'bad' : ready === live.length ? 'good' : 'warn';
  const processes = live.length === 1 ? 'one process' : `${count(live.length)} processes`;
  return (
    <Figure
      name={name}
      value={<span className={`word ${mood}`}>{word}</span>}
      says={`${processes}${stale === 0 ? '' : `, ${count(stale)} silent`}`}
    />
  );
}

function Who({ services, host, pid, version }: Process) {
  return (
    <>
      <div className="names">
        {SERVICES.flatMap(([service, name]) => (services.includes(service) ? name : [])).join(', ')}
      </div>
      <div className="quiet small">
        {host}, process {pid}, version {version}
      </div>
    </>
  );
}

function State({ isStale, isReady, seenAt }: Process) {
  const since = <div className="quiet small">last heartbeat {duration(-secondsUntil(seenAt))} ago</div>;
  if (isStale) {
    return (
      <>
        <Tag mood="bad">Stale</Tag>
        {since}
      </>
    );
  }
  return <Tag mood={isReady ? 'good' : 'bad'}>{isReady ? 'Ready' : 'Not ready'}</Tag>;
}

function Load({ residentBytes, eventLoopDelayMs, activeJobs, idleWorkers }: Process) {
  return (
    <>
      <div className="number">{count(Math.round(residentBytes / MEGABYTE))} MB</div>
      <div className="quiet small number">timers {latency(eventLoopDelayMs)} late</div>
      {activeJobs !== null && (
        <div className="quiet small number">
          {count(activeJobs)} of {count(activeJobs + (idleWorkers ?? 0))} busy
        </div>
      )}
    </>
  );
}

function Parts({ parts }: { parts: readonly Part[] }) {
  return (
    <div className="row parts">
      {parts.map(({ name, status, latencyMs }) => (
        <Tag key={name} mood={MOODS[status]}>
          {name.replaceAll('_', ' ')}: {status.toLowerCase()}
          {latencyMs !== null && `, ${latency(latencyMs)}`}
        </Tag>
      ))}
    </div>
  );
}
