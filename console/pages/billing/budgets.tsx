import { useState } from 'react';
import { Confirmed, Dialog } from '../../parts/dialog.tsx';
import { Choice, Field, Form } from '../../parts/form.tsx';
import { type Column, List } from '../../parts/list.tsx';
import { Card, type Mood, Page, Tag } from '../../parts/page.tsx';
import { KeyPicker } from '../../parts/picker.tsx';
import { count, credits, roundedCredits, utcDay } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { graphql, type RowOf } from '../../session/graphql.ts';
import { useChange, useQuery } from '../../session/use-query.ts';

const BUDGETS =
  graphql(`{ budgets { id scope subject keyName monthlyCredits hard spent topEndUser usedUpBy resetsAt
  version } }`);
const SET = graphql(`mutation($input: BudgetInput!) { setBudget(input: $input) { id } }`);
const DELETE = graphql(`mutation($id: ID!) { deleteBudget(id: $id) { id } }`);
const PROJECTS = graphql(`{ apiKeyPage(first: 100, status: LIVE) { nodes { project } } }`);
const LOOK_EVERY_MS = 10_000;
const NEARLY_USED_UP = 0.8;

type Budget = RowOf<typeof BUDGETS>;
type Scope = Budget['scope'];

const SCOPES: Readonly<Record<Scope, string>> = {
  COMPANY: 'The whole company',
  PROJECT: 'A project',
  KEY: 'A key',
  END_USER: 'An end user',
};

/** Monthly budgets, with what was spent this month. */
export function Budgets() {
  const budgets = useQuery(BUDGETS, {}, LOOK_EVERY_MS);
  const change = useChange(budgets.reload);
  const [edited, setEdited] = useState<Budget | 'new' | null>(null);
  const actions: Column<Budget> = {
    name: 'Actions',
    show: (budget) => (
      <div className="row tight">
        <button
          type="button"
          className="little"
          aria-label={`Edit the budget of ${ownerOf(budget)}`}
          onClick={() => setEdited(budget)}
        >
          Edit
        </button>
        <Confirmed
          name="Delete"
          title={`Delete the budget of ${ownerOf(budget)}?`}
          says="It stops refusing calls within a second. What was spent remains counted."
          work={() => change(DELETE, { id: budget.id })}
        />
      </div>
    ),
  };
  return (
    <Page
      title="Budgets"
      says="What may be spent in a calendar month (UTC): by the company, a project, a key or an end user. A call counts in the month in which it began."
      actions={
        <button type="button" className="main" onClick={() => setEdited('new')}>
          Add a budget
        </button>
      }
    >
      <Card>
        <List
          label="Budgets"
          nothing="No budgets yet"
          rows={budgets.data?.budgets ?? null}
          error={budgets.error}
          retry={budgets.reload}
          keyOf={({ id }) => id}
          nameOf={ownerOf}
          columns={[...COLUMNS, actions]}
          empty={
            <p>Add one to limit what the company, a project, a key or your end users spend in a month.</p>
          }
        />
      </Card>
      {edited !== null && (
        <EditBudget
          budget={edited === 'new' ? null : edited}
          close={() => setEdited(null)}
          changed={budgets.reload}
        />
      )}
    </Page>
  );
}

function ownerOf({ scope, subject, keyName }: Budget): string {
  switch (scope) {
    case 'COMPANY':
      return 'the company';
    case 'PROJECT':
      return `the project ${subject}`;
    case 'KEY':
      return `the key ${keyName ?? subject}`;
    case 'END_USER':
      return subject === '*' ? 'every end user' : `the end user ${subject}`;
  }
}

const COLUMNS: readonly Column<Budget>[] = [
  {
    name: 'Applies to',
    show: (budget) => (
      <>
        <div>{startOf(ownerOf(budget))}</div>
        {budget.usedUpBy !== null && (
          <div className="small quiet">
            {budget.topEndUser === null
              ? 'no end user has spent anything'
              : `most by ${budget.topEndUser}; used up by ${count(budget.usedUpBy)}`}
          </div>
        )}
      </>
    ),
  },
  {
    name: 'This month',
    show: (budget) => (
      <>
        <progress
          className={moodOf(budget)}
          aria-label={`Spent of the budget of ${ownerOf(budget)}`}
          max={budget.monthlyCredits === 0 ? 1 : budget.monthlyCredits}
          value={budget.monthlyCredits === 0 ? 1 : Math.min(budget.spent, budget.monthlyCredits)}
        />
        <div className="small" title={`${credits(budget.spent)} credits`}>
          {roundedCredits(budget.spent)} of {credits(budget.monthlyCredits)} credits
        </div>
      </>
    ),
  },
  {
    name: 'When it is used up',
    show: (budget) => {
      if (!budget.hard) return 'Alerts only';
      return isUsedUp(budget) ? <Tag mood="bad">Calls are refused</Tag> : 'Refuses calls';
    },
  },
  { name: 'Resets (UTC)', show: ({ resetsAt }) => <span className="unbroken">{utcDay(resetsAt)}</span> },
];

const isUsedUp = ({ spent, monthlyCredits }: Budget) => spent >= monthlyCredits;

/** Of the bar: what is used up, and what soon will be. */
function moodOf(budget: Budget): Mood {
  if (isUsedUp(budget)) return 'bad';
  return budget.spent >= NEARLY_USED_UP * budget.monthlyCredits ? 'warn' : 'plain';
}

const startOf = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);

interface EditBudgetProps {
  /** Null for a new one. */
  readonly budget: Budget | null;
  close(): void;
  changed(): Promise<void>;
}

function EditBudget({ budget, close, changed }: EditBudgetProps) {
  const { session } = useConsole();
  const [scope, setScope] = useState<Scope>(budget?.scope ?? 'COMPANY');
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  return (
    <Dialog title={budget === null ? 'Add a budget' : `Budget of ${ownerOf(budget)}`} close={close}>
      <Form
        submit="Save"
        beside={cancel}
        send={async ({ text, number }) => {
          const subject = budget === null ? text('subject') : budget.subject;
          const input = {
            scope,
            ...(scope === 'COMPANY' ? {} : { subject }),
            monthlyCredits: number('monthly') ?? 0,
            hard: text('hard') === 'refuse',
            ...(budget === null ? {} : { version: budget.version }),
          };
          await session.request(SET, { input });
          await changed();
          close();
        }}
      >
        {budget === null && (
          <Choice label="For" value={scope} onChange={(event) => setScope(event.target.value as Scope)}>
            {Object.entries(SCOPES).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </Choice>
        )}
        {budget === null && <SubjectField scope={scope} />}
        <Field
          label="Credits a month"
          {...{ name: 'monthly', type: 'number', min: 0, step: 'any', required: true }}
          defaultValue={budget?.monthlyCredits ?? ''}
        />
        <Choice
          label="When it is used up"
          name="hard"
          defaultValue={budget?.hard === false ? 'alert' : 'refuse'}
        >
          <option value="refuse">Refuse calls until the next month</option>
          <option value="alert">Only alert, refuse nothing</option>
        </Choice>
      </Form>
    </Dialog>
  );
}

function SubjectField({ scope }: { scope: Scope }) {
  if (scope === 'COMPANY') return null;
  if (scope === 'KEY') return <KeyPicker name="subject" none="Choose a key" isRequired isLive />;
  if (scope === 'PROJECT') return <ProjectSubject />;
  return (
    <Field
      label="End user"
      {...{ name: 'subject', maxLength: 128, required: true }}
      hint="The value of user in requests; * matches every end user without a budget of their own."
    />
  );
}

/** Any project may be entered; those of the newest keys are suggested. */
function ProjectSubject() {
  const keys = useQuery(PROJECTS).data?.apiKeyPage.nodes ?? [];
  const projects = [...new Set(keys.flatMap(({ project }) => project ?? []))].sort();
  return (
    <>
      <Field
        label="Project"
        {...{ name: 'subject', maxLength: 64, required: true, list: 'projects' }}
        hint="As keys have it. Keys get their project on the page API keys."
      />
      <datalist id="projects">
        {projects.map((project) => (
          <option key={project} value={project} />
        ))}
      </datalist>
    </>
  );
}
