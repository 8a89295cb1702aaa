import { Link } from 'wouter';
import { type Column, List, Nil } from '../../parts/list.tsx';
import { Card, Page, Tag } from '../../parts/page.tsx';
import { count, credits, exact, factorWords, ModelName } from '../../parts/words.tsx';
import { useIsAdmin } from '../../session/console-context.ts';
import { graphql, type RowOf } from '../../session/graphql.ts';
import { useQuery } from '../../session/use-query.ts';

const MODELS = graphql(`{ modelAliases { alias kind contextLength maxOutputTokens retiredAt
  prices { id prompt cached completion cacheWrite inForceFrom } priceFactors { field value factor } } }`);

type Model = RowOf<typeof MODELS>;
type Price = Model['prices'][number];

/** The models that the company can call, and their prices. */
export function Prices() {
  const { data, error, reload } = useQuery(MODELS);
  const isAdmin = useIsAdmin();
  return (
    <Page
      title="Models and prices"
      says="In credits per million tokens. A call is charged at the price that was in effect when it began; a failed call costs nothing."
      actions={
        isAdmin && (
          <>
            <Link className="button" href="/playground">
              Try a model
            </Link>
            <Link className="button" href="/billing">
              Buy credits
            </Link>
          </>
        )
      }
    >
      <Card>
        <List
          label="Models and prices"
          rows={data?.modelAliases.filter(({ retiredAt }) => retiredAt === null) ?? null}
          error={error}
          retry={reload}
          keyOf={({ alias }) => alias}
          empty={<p>No model is set up. Ask your operator.</p>}
          columns={COLUMNS}
        />
      </Card>
    </Page>
  );
}

const KINDS = new Map([
  ['chat', 'Chat'],
  ['embed', 'Embeddings'],
  ['extract', 'Documents'],
]);

const COLUMNS: readonly Column<Model>[] = [
  {
    name: 'Model',
    show: ({ alias, prices, priceFactors }) => (
      <>
        <code>
          <ModelName name={alias} />
        </code>
        {priceFactors.length > 0 && <div className="small quiet">{factorWords(priceFactors)}</div>}
        {prices.slice(1).map((price) => (
          <div key={price.id} className="small quiet">
            From {exact(price.inForceFrom)}: prompt {credits(price.prompt)}, completion{' '}
            {credits(price.completion)}
          </div>
        ))}
      </>
    ),
  },
  { name: 'For', show: ({ kind }) => <Tag>{KINDS.get(kind) ?? kind}</Tag> },
  { name: 'Context, tokens', isNumber: true, show: ({ contextLength }) => count(contextLength) },
  {
    name: 'Longest answer',
    isNumber: true,
    show: ({ kind, maxOutputTokens }) => (kind === 'embed' ? <Nil /> : count(maxOutputTokens)),
  },
  priceColumn('Prompt', ({ prompt }) => prompt),
  priceColumn('Cached prompt', ({ cached }) => cached),
  priceColumn('Cache write', ({ cacheWrite, prompt }) => cacheWrite ?? prompt),
  priceColumn('Completion', ({ completion }) => completion),
];

function priceColumn(name: string, of: (price: Price) => number): Column<Model> {
  return {
    name,
    isNumber: true,
    show: ({ prices: [now] }) => (now === undefined ? <Nil /> : credits(of(now))),
  };
}
