/** The two requests that a relying party makes to an OpenID provider. Both reject if there is no usable answer. */
export interface OidcTransport {
  /** Discovery and keys: a JSON document. */
  getJson(url: string): Promise<unknown>;
  /** The token endpoint: its status and its JSON. */
  postForm(
    url: string,
    form: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ readonly status: number; readonly body: unknown }>;
}
