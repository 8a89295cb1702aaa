import { Act, Copy } from '../parts/dialog.tsx';
import { Facts } from '../parts/facts.tsx';
import { List } from '../parts/list.tsx';
import { Bones, Card, Figure, Notice, Page, Problem } from '../parts/page.tsx';
import { Sentence } from '../parts/recorded.tsx';
import { count, counted, credits, exact, Moment, money, spoken } from '../parts/words.tsx';
import { type DataOf, graphql } from '../session/graphql.ts';
import { useChange, useQuery } from '../session/use-query.ts';

const REPORT = graphql(`{ auditReport { checkedAt from to objectsRead foreignCharges isCut
  differences { kind subject expected found remedy }
  credits { sold granted invoiced adjusted refunded spent expired left }
  cash { currency received refunded disputed customerBalance outstanding } } }`);
const START = graphql(`mutation($from: DateTime!, $to: DateTime!) { startAudit(from: $from, to: $to) }`);
const RANGE_MS = 35 * 24 * 60 * 60_000;

type Report = DataOf<typeof REPORT>['auditReport'];

export function AuditReport() {
  const { data, error, reload } = useQuery(REPORT, {}, 10_000);
  const change = useChange(reload);
  const start = () => {
    const now = Date.now();
    return change(START, { from: new Date(now - RANGE_MS).toISOString(), to: new Date(now).toISOString() });
  };
  return (
    <Page
      title="Audit"
      says="Whether the books agree with themselves and with the payment provider’s money. The workers check once a day."
      actions={<Act name="Start an audit now" work={start} />}
    >
      <Problem error={error} retry={reload} />
      {data === null ? error === null && <Bones /> : <Found report={data.auditReport} />}
    </Page>
  );
}

function Found({ report }: { report: Report }) {
  const { differences, cash, isCut } = report;
  return (
    <>
      <div className="columns">
        <Figure name="To resolve" value={`${count(differences.length)}${isCut ? '+' : ''}`} />
        <Figure name="Checked" value={<Moment at={report.checkedAt} />} says={exact(report.checkedAt)} />
        {cash.map(({ currency, outstanding }) => (
          <Figure
            key={currency}
            name={`Credits outstanding, ${currency.toUpperCase()}`}
            value={money(outstanding, currency)}
          />
        ))}
      </div>
      {differences.length === 0 && <Notice mood="good">The books agree with the payment provider.</Notice>}
      <Card title="Differences">
        <List
          label="Differences"
          rows={differences}
          keyOf={({ kind, subject }) => `${kind} ${subject}`}
          nothing="No differences"
          empty={<p>Every balance, charge and payment that was compared agrees.</p>}
          columns={[
            {
              name: 'What',
              show: ({ kind, subject }) => (
                <>
                  <div>{spoken(kind)}</div>
                  <Sentence text={subject} />
                  <div>
                    <code className="quiet small">{subject}</code>{' '}
                    <Copy text={subject} label={`Copy ${subject}`} />
                  </div>
                </>
              ),
            },
            { name: 'Expected', show: ({ expected }) => <Sentence text={expected} /> },
            { name: 'Found', show: ({ found }) => <Sentence text={found} /> },
            {
              name: 'To resolve it',
              show: ({ remedy }) => (
                <>
                  <code>{remedy}</code> <Copy text={remedy} label={`Copy ${remedy}`} />
                </>
              ),
            },
          ]}
        />
      </Card>
      <Card title="Money">
        <List
          label="Money"
          rows={cash}
          keyOf={({ currency }) => currency}
          empty={<p>No money was received yet.</p>}
          columns={[
            { name: 'Currency', show: ({ currency }) => currency.toUpperCase() },
            { name: 'Received', isNumber: true, show: (row) => money(row.received, row.currency) },
            { name: 'Refunded', isNumber: true, show: (row) => money(row.refunded, row.currency) },
            { name: 'Disputed', isNumber: true, show: (row) => money(row.disputed, row.currency) },
            { name: 'On balances', isNumber: true, show: (row) => money(row.customerBalance, row.currency) },
            { name: 'Outstanding', isNumber: true, show: (row) => money(row.outstanding, row.currency) },
          ]}
        />
      </Card>
      <Card title="Credits">
        <Facts
          facts={Object.entries(report.credits).map(([name, amount]) => [spoken(name), credits(amount)])}
        />
      </Card>
      <p className="quiet small">
        {counted(report.objectsRead, 'object of the provider was', 'objects of the provider were')} read, from{' '}
        {exact(report.from)} to {exact(report.to)}.{' '}
        {counted(report.foreignCharges, 'charge is', 'charges are')} of other customers.
      </p>
    </>
  );
}
