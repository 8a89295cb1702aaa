import { gatewayDocument } from '../gateway/api-docs.ts';
import { createDocs } from '../http/docs-page.ts';
import type { ListenOptions } from '../http/listen.ts';
import { docsFiles } from './docs-files.ts';

/** The gateway's documentation beside its calls, which pass on as they are. */
export function withGatewayDocs(fetch: ListenOptions['fetch']): ListenOptions['fetch'] {
  const docs = createDocs({ title: 'Turnpike gateway', document: gatewayDocument(), files: docsFiles() });
  return (request, connection) => {
    const isCandidate = request.method === 'GET' && !request.url.includes('/llm/v1');
    const page = isCandidate ? docs(new URL(request.url).pathname) : null;
    return page ?? fetch(request, connection);
  };
}
