import { type DragEvent, useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { useFilters } from '../../operations/filters.tsx';
import { Area, Choice, Field, Form } from '../../parts/form.tsx';
import { List } from '../../parts/list.tsx';
import { Card, Notice, Page, Tag, ToForm } from '../../parts/page.tsx';
import { Moment, spoken } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { graphql, type RowOf, type Variables } from '../../session/graphql.ts';
import { useAction, usePages } from '../../session/use-query.ts';
import { LOOK_WHILE_READING_MS, TALENT_MOODS } from './talent.tsx';

const TALENTS = graphql(`query($after: ID, $status: TalentStatus, $search: String) {
  talents(first: 20, after: $after, status: $status, search: $search) {
    nodes { id name headline email status problem createdAt duplicateOf { id } proposal { id } possibleDuplicates { id } }
    pageInfo { hasNextPage endCursor } } }`);
const CREATE = graphql(`mutation($input: TalentInput!) { createTalent(input: $input) { id } }`);
const FIRST_STEP = 'Drop a CV below: PDF, DOCX, ODT, RTF, HTML or plain text.';

type Talent = RowOf<typeof TALENTS>;
type TalentInput = Variables<typeof CREATE>['input'];

export function Talents() {
  const { session } = useConsole();
  const { filter, setFilter, typed, oneOf } = useFilters();
  const status = oneOf('status', ['READY', 'PENDING', 'FAILED'] as const);
  const isFiltered = status !== undefined || filter('search') !== '';
  const wanted = { ...(status === undefined ? {} : { status }), search: filter('search') };
  const pages = usePages(TALENTS, wanted, (nodes) =>
    nodes.some((talent) => talent.status === 'PENDING') ? LOOK_WHILE_READING_MS : null,
  );
  const pending = pages.nodes?.filter(({ status }) => status === 'PENDING').length ?? 0;
  const { reload } = pages;
  const add = async (input: TalentInput) => {
    await session.request(CREATE, { input });
    await reload();
  };
  return (
    <Page
      title="Talents"
      says="People and their CVs. Each is read into a profile, and matched with your active jobs."
      actions={<ToForm of="Upload CVs" />}
    >
      {pending > 0 && (
        <Notice mood="warn">
          {pending === 1 ? 'One CV is being read.' : `${pending} CVs are being read.`} The list updates
          automatically.
        </Notice>
      )}
      <Card title="Your talents">
        <div className="columns">
          <Field label="Search" hint="Name, headline, e-mail or telephone." {...typed('search')} />
          <Choice
            label="Status"
            value={status ?? ''}
            onChange={(event) => setFilter('status', event.target.value)}
          >
            <option value="">All</option>
            <option value="READY">Ready</option>
            <option value="PENDING">Being read</option>
            <option value="FAILED">Not readable</option>
          </Choice>
        </div>
        <List
          label="Talents"
          rows={pages.nodes}
          error={pages.error}
          retry={reload}
          more={pages}
          keyOf={({ id }) => id}
          nothing={isFiltered ? 'No such talent' : 'No talents yet'}
          empty={<p>{isFiltered ? 'Choose other words or another status.' : FIRST_STEP}</p>}
          columns={[
            { name: 'Person', show: (talent) => <PersonName {...talent} /> },
            { name: 'Status', show: ({ status }) => <Tag mood={TALENT_MOODS[status]}>{spoken(status)}</Tag> },
            { name: 'Added', show: ({ createdAt }) => <Moment at={createdAt} /> },
            { name: 'Matches', show: ({ id }) => <Link href={`/matches?talent=${id}`}>Matches</Link> },
          ]}
        />
      </Card>
      {/* Not before the list: its rows would move the form while it is being filled in. */}
      {(pages.nodes !== null || pages.error !== null) && (
        <div className="halves">
          <Card title="Upload CVs">
            <CvDrop add={(file) => add({ file })} />
          </Card>
          <Card title="Or paste one">
            <Form submit="Read the CV" clears guards send={({ text }) => add({ text: text('text') })}>
              <Area label="Text of the CV" name="text" rows={8} required />
            </Form>
          </Card>
        </div>
      )}
    </Page>
  );
}

function PersonName({
  id,
  name,
  headline,
  email,
  problem,
  duplicateOf,
  proposal,
  possibleDuplicates,
}: Talent) {
  return (
    <>
      <div>
        <Link href={`/talents/${id}`}>{name ?? 'Without a name yet'}</Link>
      </div>
      <span className="quiet small">{[headline, email].filter((one) => one !== null).join(' · ')}</span>
      {duplicateOf !== null && <div className="small quiet">Duplicate of an earlier talent</div>}
      {possibleDuplicates.length > 0 && <div className="small">May be the same person as another talent</div>}
      {proposal !== null && <div className="small">A newer CV proposes changes</div>}
      {problem !== null && <div className="small">{problem}</div>}
    </>
  );
}

const MAX_BYTES = 10 * 1024 * 1024;
const CHUNK = 0x8000;

interface SentFile {
  readonly file: File;
  /** Null while it is waiting or being sent; empty once it is sent; otherwise why it was refused. */
  readonly problem: string | null;
}

/**
 * Files are dropped, or chosen with a button, which works by keyboard. They are sent one after the other; a refused
 * file does not stop the rest.
 */
function CvDrop({ add }: { add(file: NonNullable<TalentInput['file']>): Promise<void> }) {
  const [isOver, setOver] = useState(false);
  const [sent, setSent] = useState<readonly SentFile[]>([]);
  const action = useAction();
  const send = async (file: File): Promise<string> => {
    if (file.size > MAX_BYTES) return 'It is larger than 10 MiB.';
    try {
      await add({ name: file.name, contentBase64: await base64Of(file) });
      return '';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
  const queue = useRef<File[] | null>(null);
  // Those that wait are not sent once the page is left: a refusal would be shown nowhere.
  useEffect(() => () => void queue.current?.splice(0), []);
  const take = async (files: readonly File[]) => {
    // The choice was cancelled: what is shown of the files before stays.
    if (files.length === 0) return;
    const rows = files.map((file) => ({ file, problem: null }));
    // Files that are dropped while others are sent follow them.
    if (queue.current !== null) {
      queue.current.push(...files);
      setSent((now) => [...now, ...rows]);
      return;
    }
    const all = [...files];
    queue.current = all;
    setSent(rows);
    await action.run(async () => {
      for (const [at, file] of all.entries()) {
        const problem = await send(file);
        setSent((now) => now.map((one, place) => (place === at ? { file, problem } : one)));
      }
    });
    queue.current = null;
  };
  const refused = sent.filter(({ problem }) => problem !== null && problem !== '');
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void take([...event.dataTransfer.files]);
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the input inside is the way by keyboard */}
      <div
        className="drop"
        data-over={isOver}
        data-sending={action.isBusy ? '' : undefined}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <label className="field">
          <span>Drop CVs here, or choose them</span>
          <input
            type="file"
            multiple
            accept=".pdf,.docx,.odt,.rtf,.html,.htm,.txt"
            onChange={({ target }) => {
              const files = [...(target.files ?? [])];
              // A browser reports the same file only once, also if it was corrected in the meantime.
              target.value = '';
              void take(files);
            }}
          />
        </label>
      </div>
      <p className="quiet" role="status">
        {batchWords(sent)}
      </p>
      {refused.length > 0 && (
        <Notice mood="bad">
          <ul className="points">
            {refused.map(({ file, problem }) => (
              <li key={sent.findIndex((one) => one.file === file)}>
                <strong>{file.name}:</strong> {problem}
              </li>
            ))}
          </ul>
          {!action.isBusy && (
            <button
              type="button"
              className="little"
              onClick={() => void take(refused.map(({ file }) => file))}
            >
              Send {refused.length === 1 ? 'it' : 'them'} again
            </button>
          )}
        </Notice>
      )}
    </>
  );
}

function batchWords(sent: readonly SentFile[]): string {
  const waiting = sent.find(({ problem }) => problem === null);
  const done = sent.filter(({ problem }) => problem === '').length;
  if (sent.length === 0) return '';
  if (waiting !== undefined) {
    return `Sending ${sent.indexOf(waiting) + 1} of ${sent.length}: ${waiting.file.name}`;
  }
  if (done === 0) return 'Nothing was sent.';
  if (sent.length === 1) return 'Sent. It is being read.';
  return done === sent.length
    ? `${done} files sent. They are being read.`
    : `${done} of ${sent.length} files sent. They are being read.`;
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += CHUNK)
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}
