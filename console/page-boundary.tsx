import { Component, type ReactNode } from 'react';
import { Notice, Page } from './parts/page.tsx';

/** The script of a page did not come: the connection is down, or a deploy has removed it. */
export class PageLoadError extends Error {
  constructor(cause: unknown) {
    super('The script of this page could not be loaded.', { cause });
  }
}

/** In place of a white screen: what happened, and a reload. It is mounted again for each address. */
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
