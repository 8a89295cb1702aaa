import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Context } from 'hono';
import type { ConsoleAssets } from '../domain/console-assets/console-assets.ts';
import type { ServiceApp, ServiceVariables } from '../http/service-app.ts';
import type { Log } from '../ports/log.ts';

interface ConsoleFile {
  /** As in its URL: contains the hash of its content. */
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export type ConsoleBuild =
  | {
      readonly outcome: 'built';
      readonly files: readonly ConsoleFile[];
      /** The entry files that the HTML shell loads. */
      readonly script: string;
      readonly style: string;
      readonly icon: string;
    }
  | { readonly outcome: 'failed'; readonly reason: string };

export interface ConsoleParts {
  /** Built while the backend starts. Requests wait until it is done. */
  readonly build: Promise<ConsoleBuild>;
  /** The gateway's address as browsers reach it. The playground calls it, and code samples show it. */
  readonly gatewayUrl: string;
  /** Assets of other builds: of the one before a deployment, and of backends that run another one during it. */
  readonly assets: ConsoleAssets;
  readonly log: Log;
  readonly consoleUrl: string;
  /** The sign-up page is shown if it is `open`. */
  readonly signUpMode: 'open' | 'invited' | 'closed';
  /** Granted to a new company once its first admin has verified the address; 0 grants nothing. */
  readonly trialCredits: number;
  /** The label of the OIDC sign-in button; null if OIDC is not configured. */
  readonly oidcName: string | null;
  /** The login page names the file with the demo world's log-ins. */
  readonly hasDemoWorld: boolean;
}

const ASSETS = '/assets/';
/** Paths of APIs: an unknown one answers 404 in the error envelope, not the shell. */
const NOT_PAGES =
  /^\/(?:graphql|health|healthz|payments|session|assets|docs|openapi\.json|operations|metrics)(?:\/|$)/;
const KINDS = new Map([
  ['js', 'text/javascript; charset=utf-8'],
  ['css', 'text/css; charset=utf-8'],
  ['svg', 'image/svg+xml'],
]);
/** Files of other builds in memory: about three builds. */
const MOST_OTHERS = 300;
/** Quality 9 takes a tenth of the time of 11 here, for 3 % more bytes. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/**
 * Serves the console at `/`. Assets have the hash of their content in their names and are cached forever; the shell,
 * which names them, is never cached. Any other path that a browser opens as a page also gets the shell, so that deep
 * links work.
 */
export function addConsoleFiles(app: ServiceApp, parts: ConsoleParts): void {
  const headers = pageHeaders(parts);
  const packed = new Map<string, Promise<PackedConsole | null>>();
  const files = () => {
    const found = packed.get('console') ?? parts.build.then((build) => pack(build, parts));
    packed.set('console', found);
    return found;
  };

  void storeFiles(parts);
  const others = new Map<string, Packed>();
  const ofAnotherBuild = async (name: string): Promise<Packed | undefined> => {
    const known = others.get(name);
    if (known !== undefined) return known;
    try {
      const bytes = await parts.assets.find(name);
      if (bytes === null) return undefined;
      const packed = compressed(kindOf(name), bytes);
      if (others.size < MOST_OTHERS) others.set(name, packed);
      return packed;
    } catch (error) {
      parts.log.warn('files of earlier builds of the console cannot be read', { error });
      return undefined;
    }
  };

  app.get(`${ASSETS}:name`, async (context) => {
    const name = context.req.param('name');
    const asset = (await files())?.assets.get(name) ?? (await ofAnotherBuild(name));
    if (asset === undefined) return context.notFound();
    return answer(context, asset, { ...headers, 'cache-control': 'public, max-age=31536000, immutable' });
  });
  app.get('*', async (context) => {
    if (!isPage(context)) return context.notFound();
    const shell = (await files())?.shell;
    if (shell !== undefined) return answer(context, shell, { ...headers, 'cache-control': 'no-store' });
    const text = 'The console could not be built. The backend’s log says why; everything else works.\n';
    return context.text(text, 503, { 'cache-control': 'no-store' });
  });
}

function isPage(context: Context<ServiceVariables>): boolean {
  const { path } = context.req;
  if (path === '/') return true;
  return !NOT_PAGES.test(path) && (context.req.header('accept') ?? '').includes('text/html');
}

interface Packed {
  readonly kind: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly gzip: Uint8Array<ArrayBuffer>;
  readonly br: Uint8Array<ArrayBuffer>;
}

interface PackedConsole {
  readonly assets: ReadonlyMap<string, Packed>;
  readonly shell: Packed;
}

async function storeFiles({ build, assets, log }: ConsoleParts): Promise<void> {
  try {
    const built = await build;
    if (built.outcome === 'built') await assets.store(built.files);
  } catch (error) {
    log.warn(
      'the files of the console are not stored: pages open now fail to load others after the next deploy',
      {
        error,
      },
    );
  }
}

function kindOf(name: string): string {
  return KINDS.get(name.slice(name.lastIndexOf('.') + 1)) ?? 'application/octet-stream';
}

/** Compresses everything once. */
function pack(build: ConsoleBuild, parts: ConsoleParts): PackedConsole | null {
  if (build.outcome === 'failed') return null;
  const assets = build.files.map(({ name, bytes }): [string, Packed] => {
    return [name, compressed(kindOf(name), bytes)];
  });
  const shell = new TextEncoder().encode(shellOf(build, parts));
  return { assets: new Map(assets), shell: compressed('text/html; charset=utf-8', shell) };
}

function compressed(kind: string, bytes: Uint8Array<ArrayBuffer>): Packed {
  return {
    kind,
    bytes,
    gzip: new Uint8Array(gzipSync(bytes)),
    br: new Uint8Array(brotliCompressSync(bytes, BROTLI)),
  };
}

function answer(
  context: Context<ServiceVariables>,
  packed: Packed,
  headers: Record<string, string>,
): Response {
  const accepted = context.req.header('accept-encoding') ?? '';
  const encoding = /\bbr\b/.test(accepted) ? 'br' : /\bgzip\b/.test(accepted) ? 'gzip' : null;
  const sent = { ...headers, 'content-type': packed.kind, vary: 'accept-encoding' };
  if (encoding === null) return new Response(packed.bytes, { headers: sent });
  return new Response(packed[encoding], { headers: { ...sent, 'content-encoding': encoding } });
}

/** No third-party content, no inline script, no framing. */
function pageHeaders({ gatewayUrl, consoleUrl }: ConsoleParts): Record<string, string> {
  const own = new URL(consoleUrl);
  const socket = `${own.protocol === 'https:' ? 'wss' : 'ws'}://${own.host}`;
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src 'self' ${socket} ${new URL(gatewayUrl).origin}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    ...(own.protocol === 'https:' ? { 'strict-transport-security': 'max-age=31536000' } : {}),
    'content-security-policy': policy.join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  };
}

function shellOf(
  build: ConsoleBuild & { outcome: 'built' },
  { gatewayUrl, signUpMode, oidcName, trialCredits, hasDemoWorld }: ConsoleParts,
): string {
  const escaped = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="gateway-url" content="${escaped(gatewayUrl)}">
<meta name="sign-up" content="${signUpMode}">
<meta name="trial-credits" content="${trialCredits}">
<meta name="oidc-name" content="${escaped(oidcName ?? '')}">${hasDemoWorld ? '\n<meta name="demo-world" content="on">' : ''}
<title>Turnpike</title>
<link rel="icon" href="${ASSETS}${build.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${ASSETS}${build.style}">
<script type="module" src="${ASSETS}${build.script}"></script>
</head>
<body><div id="console"><form class="waiting"><p>A file of the console could not be loaded. Check the connection.</p><button>Reload the page</button></form></div>
<noscript>The console needs JavaScript.</noscript></body>
</html>
`;
}
