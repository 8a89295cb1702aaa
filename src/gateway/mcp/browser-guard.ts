import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';

export interface BrowserGuardParts {
  /** The one origin, besides pages of this machine, whose pages may call. */
  readonly consoleOrigin?: string | undefined;
  /** True where the gateway listens on loopback alone and no proxy stands before it. */
  readonly checksHost: boolean;
}

export type BrowserGuard = (request: Request) => Response | null;

/**
 * A page that a user happens to have open must not reach the tools through the user's browser. Whatever is not a
 * browser sends no Origin and passes. On loopback the Host is looked at too: a name that was made to point here is not
 * this machine's (DNS rebinding). Behind a proxy the Host is the public one, which the proxy answers for.
 */
export function createBrowserGuard({ consoleOrigin, checksHost }: BrowserGuardParts): BrowserGuard {
  const hosts = localhostAllowedHostnames();
  const origins = localhostAllowedOrigins();
  return (request) => {
    const wrongHost = checksHost ? hostHeaderValidationResponse(request, hosts) : undefined;
    if (wrongHost !== undefined) return wrongHost;
    const origin = request.headers.get('origin');
    if (origin === null || origin === consoleOrigin) return null;
    return originValidationResponse(request, origins) ?? null;
  };
}
