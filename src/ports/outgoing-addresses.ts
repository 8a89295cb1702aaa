/** Whether requests may be sent to a host, and to which addresses. */
export type HostApproval =
  /**
   * All addresses of the name, in the resolver's order. A client that opens its own connections connects to one of these
   * and does not resolve the name again. Empty only behind an HTTP proxy, which resolves names itself.
   */
  | { readonly outcome: 'approved'; readonly addresses: readonly string[] }
  /** `problem` is one sentence for the operator and for the person who sets the address. */
  | { readonly outcome: 'unresolved' | 'inside'; readonly problem: string }
  /** This process could not ask a resolver, which says nothing about the host. */
  | { readonly outcome: 'local-fault'; readonly problem: string };

/**
 * Resolves a host, as it appears in a URL, and checks whether requests may be sent to it. Synchronous if the host is an
 * address or was resolved in the last seconds. Never rejects.
 */
export type ApproveHost = (hostname: string) => HostApproval | Promise<HostApproval>;

/** Whether the runtime's fetch sends a request to this URL through an HTTP proxy. */
export type UsesProxy = (url: URL) => boolean;

interface FoundAddress {
  address: string;
  family: number;
}

/** A resolver for a client: it returns the approved addresses, even if the name resolves differently by now. */
export function lookupIn(addresses: readonly string[]) {
  const all = addresses.map((address): FoundAddress => ({ address, family: address.includes(':') ? 6 : 4 }));
  return (
    _hostname: string,
    options: { readonly all?: boolean | undefined },
    callback: (error: Error | null, found: string | FoundAddress[], family?: number) => void,
  ): void => {
    const [first] = all;
    if (first === undefined) callback(new Error('no address'), '', 4);
    else if (options.all === true) callback(null, all);
    else callback(null, first.address, first.family);
  };
}
