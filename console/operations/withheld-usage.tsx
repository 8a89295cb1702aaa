import { useState } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import { Choice, Field, Form } from '../parts/form.tsx';
import { type Column, List, RowButton } from '../parts/list.tsx';
import { Card, type Mood, Page, Tag } from '../parts/page.tsx';
import { Named } from '../parts/recorded.tsx';
import { count, credits, Moment, spoken } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql, type RowOf } from '../session/graphql.ts';
import { usePages } from '../session/use-query.ts';
import { useFilters } from './filters.tsx';

const WITHHELD = graphql(`query($after: ID, $all: Boolean) {
  withheldUsage(first: 30, after: $after, includeResolved: $all) {
    nodes { id companyId companyName requestId model promptTokens completionTokens promptBound completionBound
      chargedCredits withheldCredits status reason withheldAt resolvedAt }
    pageInfo { hasNextPage endCursor } } }`);
const POST = graphql(
  `mutation($id: ID!, $reason: String!) { postWithheldUsage(id: $id, reason: $reason) { id } }`,
);
const DROP = graphql(
  `mutation($id: ID!, $reason: String!) { dropWithheldUsage(id: $id, reason: $reason) { id } }`,
);

type Withheld = RowOf<typeof WITHHELD>;

const MOODS: Record<Withheld['status'], Mood> = { OPEN: 'warn', POSTED: 'good', DROPPED: 'plain' };

interface Resolving {
  readonly usage: Withheld;
  readonly action: 'post' | 'drop';
}

export function WithheldUsage() {
  const { filter, setFilter } = useFilters();
  const all = filter('show') === 'all';
  const pages = usePages(WITHHELD, { all });
  const [resolving, setResolving] = useState<Resolving | null>(null);
  return (
    <Page
      title="Withheld usage"
      says="Usage that a provider reported beyond what the model can read and write in one call. It is not charged until you post it."
      actions={
        <Choice
          label="Show"
          value={all ? 'all' : 'open'}
          onChange={(event) => setFilter('show', event.target.value === 'all' ? 'all' : '')}
        >
          <option value="open">Open</option>
          <option value="all">All</option>
        </Choice>
      }
    >
      <Card>
        <List
          label="Withheld usage"
          rows={pages.nodes}
          error={pages.error}
          retry={pages.reload}
          more={pages}
          keyOf={({ id }) => id}
          nameOf={({ id, companyName }) => `${companyName ?? ''} …${id.slice(-6)}`}
          nothing="No withheld usage"
          empty={<p>Usage that needs a decision is listed here.</p>}
          columns={columns(setResolving)}
        />
      </Card>
      {resolving !== null && (
        <Resolve {...resolving} close={() => setResolving(null)} changed={pages.reload} />
      )}
    </Page>
  );
}

function columns(resolve: (resolving: Resolving) => void): readonly Column<Withheld>[] {
  return [
    { name: 'Withheld', show: ({ withheldAt }) => <Moment at={withheldAt} /> },
    {
      name: 'Company',
      show: ({ companyName, companyId, requestId }) => (
        <>
          <div>{companyName ?? <Named id={companyId} />}</div>
          <code className="quiet">{requestId}</code>
        </>
      ),
    },
    { name: 'Model', show: ({ model }) => <code>{model}</code> },
    {
      name: 'Prompt tokens, most',
      isNumber: true,
      show: ({ promptTokens, promptBound }) => `${count(promptTokens)} / ${count(promptBound)}`,
    },
    {
      name: 'Completion tokens, most',
      isNumber: true,
      show: (usage) => `${count(usage.completionTokens)} / ${count(usage.completionBound)}`,
    },
    { name: 'Charged', isNumber: true, show: ({ chargedCredits }) => credits(chargedCredits) },
    { name: 'Not charged', isNumber: true, show: ({ withheldCredits }) => credits(withheldCredits) },
    {
      name: 'Status',
      show: ({ status, reason }) => (
        <>
          <Tag mood={MOODS[status]}>{spoken(status)}</Tag>
          {reason !== null && <div className="quiet">{reason}</div>}
        </>
      ),
    },
    {
      name: 'Actions',
      show: (usage) =>
        usage.status === 'OPEN' && (
          <div className="row">
            <RowButton onClick={() => resolve({ usage, action: 'post' })}>Post</RowButton>
            <RowButton isDanger onClick={() => resolve({ usage, action: 'drop' })}>
              Drop
            </RowButton>
          </div>
        ),
    },
  ];
}

function Resolve({ usage, action, close, changed }: Resolving & { close(): void; changed(): Promise<void> }) {
  const { session } = useConsole();
  const company = usage.companyName ?? usage.companyId;
  const isPost = action === 'post';
  return (
    <Dialog title={isPost ? 'Charge this usage?' : 'Drop this usage?'} close={close}>
      <p>
        {isPost
          ? `${credits(usage.withheldCredits)} credits are charged to ${company}, below zero too. Then raise the bounds of ${usage.model}, or the next such call is withheld again.`
          : `${credits(usage.withheldCredits)} credits are never charged to ${company}.`}
      </p>
      <Form
        submit={isPost ? 'Charge it' : 'Drop it'}
        isDanger={!isPost}
        beside={
          <button type="button" onClick={close}>
            Cancel
          </button>
        }
        send={async ({ text }) => {
          const wanted = { id: usage.id, reason: text('reason') };
          await (isPost ? session.request(POST, wanted) : session.request(DROP, wanted));
          await changed();
          close();
        }}
      >
        <Field
          label="Reason"
          hint={isPost ? 'The company sees it in its statement.' : 'Only operators see it.'}
          name="reason"
          maxLength={500}
          required
        />
      </Form>
    </Dialog>
  );
}
