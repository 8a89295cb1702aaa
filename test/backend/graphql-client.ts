export type Fetch = (request: Request, peerAddress?: string) => Promise<Response>;

export interface GraphqlError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions: { readonly code: string; readonly [key: string]: unknown };
}

export interface GraphqlAnswer<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly GraphqlError[];
}

export interface GraphqlClient {
  /** The whole answer. */
  answer<Data = Record<string, unknown>>(query: string, variables?: object): Promise<GraphqlAnswer<Data>>;
  /** The data of a query that must succeed. */
  ask<Data = Record<string, unknown>>(query: string, variables?: object): Promise<Data>;
  /** The first error of a query that must fail, and must have given no data. */
  refusal(query: string, variables?: object): Promise<GraphqlError>;
}

export function graphqlClient(
  fetch: Fetch,
  token: string | null,
  peerAddress: string | undefined = undefined,
): GraphqlClient {
  async function answer<Data>(query: string, variables: object = {}): Promise<GraphqlAnswer<Data>> {
    const headers = new Headers({ 'content-type': 'application/json' });
    if (token !== null) headers.set('authorization', `Bearer ${token}`);
    const body = JSON.stringify({ query, variables });
    const request = new Request('http://backend.test/graphql', { method: 'POST', headers, body });
    const response = await fetch(request, peerAddress);
    return (await response.json()) as GraphqlAnswer<Data>;
  }
  return {
    answer,
    async ask<Data>(query: string, variables?: object) {
      const { data, errors } = await answer<Data>(query, variables);
      if (errors !== undefined || data === null || data === undefined) {
        throw new Error(`${query}: ${JSON.stringify(errors)}`);
      }
      return data;
    },
    async refusal(query, variables) {
      const { data, errors } = await answer(query, variables);
      const [first] = errors ?? [];
      const given = Object.values(data ?? {}).filter((value) => value !== null);
      if (first === undefined || given.length > 0) throw new Error(`not refused: ${query}`);
      return first;
    },
  };
}
