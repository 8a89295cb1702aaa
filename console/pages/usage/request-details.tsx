import { Link } from 'wouter';
import { Copy, Dialog } from '../../parts/dialog.tsx';
import { Chips, Facts } from '../../parts/facts.tsx';
import { Notice } from '../../parts/page.tsx';
import { TargetName, useTargets } from '../../parts/target-name.tsx';
import { count, credits, exact, latency, priceWords } from '../../parts/words.tsx';
import { useIsAdmin } from '../../session/console-context.ts';
import { graphql, type RowOf } from '../../session/graphql.ts';
import { CHARGED_REASONS, failureWords, wayOut } from './failures.tsx';

export const CALLS = graphql(`query($filter: CallFilter, $after: ID) {
  calls(filter: $filter, first: 50, after: $after) {
    nodes { id requestId createdAt endpoint overMcp model servedBy pricedAs outcome status code stream promptTokens cachedTokens
      cacheWriteTokens completionTokens credits toolCredits corrections { credits nodes { credits reason } } firstTokenMs durationMs endUser tags project cacheHit ownKey
      count price { prompt cached completion cacheWrite } tier priceFactor completionPriceFactor hourWriteTokens unpriced apiKey { id name } company { id name } target tries providerCost }
    pageInfo { hasNextPage endCursor } searchedUntil } }`);

export type Call = RowOf<typeof CALLS>;

/** All details of a call, including why it was refused. */
export function RequestDetails({ call, close }: { call: Call; close(): void }) {
  const isAdmin = useIsAdmin();
  const { outcome, code, status } = call;
  return (
    <Dialog title="Request" isWide close={close}>
      {outcome !== 'SUCCEEDED' && <Failure failure={{ outcome, reason: code, httpStatus: status }} />}
      <Facts
        facts={[
          ['Request id', <RequestId key="id" text={call.requestId} />],
          ['Started', exact(call.createdAt)],
          ['Company', call.company?.name],
          ['Key', call.apiKey?.name ?? 'the platform'],
          ['Route', `${call.endpoint}${call.overMcp ? ', by a tool of MCP' : ''}`],
          ['Model', call.model],
          ['Answered by', call.servedBy],
          ['At the price of', call.pricedAs],
          ['Status', String(status)],
          ['Code', code],
          ['Charged although', CHARGED_REASONS[code ?? '']],
          ['Refusals that it is for', call.count > 1 && count(call.count)],
          ['Stream', call.stream ? 'yes' : 'no'],
          ['Prompt tokens', call.promptTokens !== null && count(call.promptTokens)],
          ['Of them from a cache', call.cachedTokens !== null && count(call.cachedTokens)],
          ['Of them written to a cache', call.cacheWriteTokens !== null && count(call.cacheWriteTokens)],
          ['Of these for an hour', call.hourWriteTokens !== null && count(call.hourWriteTokens)],
          ['Completion tokens', call.completionTokens !== null && count(call.completionTokens)],
          ['Credits', credits(call.credits)],
          ['Of them for hosted tools', call.toolCredits > 0 && credits(call.toolCredits)],
          ...call.corrections.nodes.map(
            (one) => ['Given back', `${credits(one.credits)}: ${one.reason}`] as const,
          ),
          ['Price of a million tokens', call.price !== null && priceWords(call.price)],
          ['Tier of the provider', call.tier],
          ['Price factor of the tier', call.tier !== null && `${call.priceFactor} × the price of tokens`],
          [
            'Price factor of the completion',
            call.completionPriceFactor !== call.priceFactor &&
              `${call.completionPriceFactor} × the price of completion tokens`,
          ],
          ['Not covered by a price', call.unpriced.length > 0 && call.unpriced.join(', ')],
          ['Answered from the cache', call.cacheHit && 'yes'],
          ['With the company’s own provider key', call.ownKey && 'yes'],
          ['First token after', call.firstTokenMs !== null && latency(call.firstTokenMs)],
          ['Duration', latency(call.durationMs)],
          ['End user', call.endUser],
          ['Project', call.project],
          ['Tags', call.tags.length > 0 && <Chips key="tags" words={call.tags} />],
          ['Target', call.target !== null && <TargetOf key="target" id={call.target} />],
          ['Tries', call.tries !== null && count(call.tries)],
          ['Provider cost', call.providerCost !== null && `${credits(call.providerCost)} credits`],
        ]}
      />
      <div className="row">
        <button type="button" className="main" onClick={close}>
          Close
        </button>
        {isAdmin && (
          <Link className="button" href={`/calls/${encodeURIComponent(call.requestId)}/payload`}>
            Prompt and answer
          </Link>
        )}
      </div>
    </Dialog>
  );
}

function Failure({ failure }: { failure: Parameters<typeof wayOut>[0] }) {
  const way = useIsAdmin() ? wayOut(failure) : null;
  return (
    <Notice mood={failure.outcome === 'FAILED' ? 'bad' : 'warn'}>
      {failureWords(failure)}. {way !== null && <Link href={way.href}>{way.name}</Link>}
    </Notice>
  );
}

function TargetOf({ id }: { id: string }) {
  return <TargetName id={id} targets={useTargets()} />;
}

function RequestId({ text }: { text: string }) {
  return (
    <>
      <code>{text}</code> <Copy text={text} />
    </>
  );
}
