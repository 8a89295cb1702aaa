/** What is known about a host before a call to it may leave. */
export type HostApproval =
  /**
   * Every address that the name has, in the order of the resolver. A client that opens its own connections connects to
   * one of these and does not resolve the name again. Empty only behind an HTTP proxy that resolves names itself.
   */
  | { readonly outcome: 'approved'; readonly addresses: readonly string[] }
  /** `problem` is one sentence for the operator and for the person who sets the address. */
  | { readonly outcome: 'unresolved' | 'inside'; readonly problem: string };

/**
 * Resolves a host, as it appears in a URL, and says whether calls may go there. Answers at once where the host is an
 * address or was resolved in the last seconds. Never rejects.
 */
export type ApproveHost = (hostname: string) => HostApproval | Promise<HostApproval>;
