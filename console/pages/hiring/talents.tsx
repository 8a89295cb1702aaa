import { type DragEvent, useState } from 'react';
import { Link } from 'wouter';
import { Area, Choice, Form } from '../../parts/form.tsx';
import { List } from '../../parts/list.tsx';
import { Card, Notice, Page, Problem, Tag } from '../../parts/page.tsx';
import { Moment, spoken } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { graphql, type RowOf, type Variables } from '../../session/graphql.ts';
import { useAction, usePages } from '../../session/use-query.ts';
import { LOOK_WHILE_READING_MS, TALENT_MOODS } from './talent.tsx';

const TALENTS = graphql(`query($after: ID, $status: TalentStatus) {
  talents(first: 20, after: $after, status: $status) {
    nodes { id name headline email status problem createdAt duplicateOf { id } proposal { id } }
    pageInfo { hasNextPage endCursor } } }`);
const CREATE = graphql(`mutation($input: TalentInput!) { createTalent(input: $input) { id } }`);

type Talent = RowOf<typeof TALENTS>;
type TalentInput = Variables<typeof CREATE>['input'];

export function Talents() {
  const { session } = useConsole();
  const [status, setStatus] = useState<Talent['status'] | ''>('');
  const pages = usePages(TALENTS, status === '' ? {} : { status }, (nodes) =>
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
    >
      {pending > 0 && (
        <Notice mood="warn">
          {pending === 1 ? 'One CV is being read.' : `${pending} CVs are being read.`} The list follows by
          itself.
        </Notice>
      )}
      <Card title="Your talents">
        <Choice
          label="Status"
          value={status}
          onChange={(event) => setStatus(event.target.value as typeof status)}
        >
          <option value="">All</option>
          <option value="READY">Ready</option>
          <option value="PENDING">Being read</option>
          <option value="FAILED">Not readable</option>
        </Choice>
        <List
          label="Talents"
          rows={pages.nodes}
          error={pages.error}
          retry={reload}
          more={pages}
          keyOf={({ id }) => id}
          empty={<p>Drop a CV below: PDF, DOCX, HTML or plain text.</p>}
          columns={[
            { name: 'Person', show: (talent) => <PersonName {...talent} /> },
            { name: 'Status', show: ({ status }) => <Tag mood={TALENT_MOODS[status]}>{spoken(status)}</Tag> },
            { name: 'Added', show: ({ createdAt }) => <Moment at={createdAt} /> },
            { name: 'Matches', show: ({ id }) => <Link href={`/matches?talent=${id}`}>Matches</Link> },
          ]}
        />
      </Card>
      <div className="halves">
        <Card title="Upload CVs">
          <CvDrop add={(file) => add({ file })} />
        </Card>
        <Card title="Or paste one">
          <Form submit="Read it" clears send={({ text }) => add({ text: text('text') })}>
            <Area label="Text of the CV" name="text" rows={8} required />
          </Form>
        </Card>
      </div>
    </Page>
  );
}

function PersonName({ id, name, headline, email, problem, duplicateOf, proposal }: Talent) {
  return (
    <>
      <div>
        <Link href={`/talents/${id}`}>{name ?? 'Without a name yet'}</Link>
      </div>
      <span className="quiet small">{[headline, email].filter((one) => one !== null).join(' · ')}</span>
      {duplicateOf !== null && <div className="small quiet">Duplicate of an earlier talent</div>}
      {proposal !== null && <div className="small">A newer CV proposes changes</div>}
      {problem !== null && <div className="small">{problem}</div>}
    </>
  );
}

const MAX_BYTES = 10 * 1024 * 1024;
const CHUNK = 0x8000;

/** By drop, or by the button for keyboards. One after the other, with what is done said. */
function CvDrop({ add }: { add(file: NonNullable<TalentInput['file']>): Promise<void> }) {
  const [isOver, setOver] = useState(false);
  const [done, setDone] = useState<string | null>(null);
  const action = useAction();
  const take = (files: readonly File[]) =>
    action.run(async () => {
      for (const [at, file] of files.entries()) {
        setDone(`Sending ${at + 1} of ${files.length}: ${file.name}`);
        if (file.size > MAX_BYTES) throw new Error(`${file.name} is larger than 10 MiB.`);
        await add({ name: file.name, contentBase64: await base64Of(file) });
      }
      setDone(
        files.length === 1 ? 'Sent. It is being read.' : `${files.length} files sent. They are being read.`,
      );
    });
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
            accept=".pdf,.docx,.html,.htm,.txt"
            disabled={action.isBusy}
            onChange={(event) => void take([...(event.target.files ?? [])])}
          />
        </label>
      </div>
      <p className="quiet" role="status">
        {done}
      </p>
      <Problem error={action.error} />
    </>
  );
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += CHUNK)
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}
