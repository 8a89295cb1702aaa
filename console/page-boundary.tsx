import { Component, type ComponentType, type ReactNode, useLayoutEffect, useState } from 'react';
import { Bones, Notice, Page } from './parts/page.tsx';

/** The script of a page could not be loaded: the connection is down, or a deployment has removed it. */
class PageLoadError extends Error {
  constructor(cause: unknown) {
    super('The script of this page could not be loaded.', { cause });
  }
}

/**
 * A page whose script is loaded when it is first opened and kept afterwards. Suspense is not used: React shows its
 * fallback for at least 300 ms, and most scripts arrive within 50 ms.
 */
export function pageOnDemand<Name extends string>(
  load: () => Promise<Record<Name, ComponentType>>,
  name: Name,
): ComponentType {
  let Loaded: ComponentType | null = null;
  return function PageOnDemand() {
    const [, setLoaded] = useState(Loaded !== null);
    const [error, setError] = useState<PageLoadError | null>(null);
    useLayoutEffect(() => {
      if (Loaded !== null) return;
      const show = (script: Record<Name, ComponentType>) => {
        Loaded = script[name];
        setLoaded(true);
      };
      load().then(show, (cause) => setError(new PageLoadError(cause)));
    }, []);
    if (error !== null) throw error;
    return Loaded === null ? <Bones lines={6} /> : <Loaded />;
  };
}

/** Shows what happened and a reload button instead of a blank screen. It is remounted for each URL. */
export class PageBoundary extends Component<{ readonly children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const isLoad = error instanceof PageLoadError;
    return (
      <Page title={isLoad ? 'This page could not be loaded' : 'This page has failed'}>
        <Notice mood="bad">
          <p>
            {isLoad
              ? 'A newer version may have been deployed, or the connection is down. Reload to get the page as it is now.'
              : `The page cannot be shown: ${error.message}. Reload it; if it fails again, report this text.`}
          </p>
          <button type="button" onClick={() => location.reload()}>
            Reload
          </button>
        </Notice>
      </Page>
    );
  }
}
