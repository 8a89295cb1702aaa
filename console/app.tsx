import { Fragment, useEffect, useRef, useState } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { AccountNotices, StepUpDialog } from './account-notices.tsx';
import { PageBoundary } from './page-boundary.tsx';
import { Announcements } from './parts/announce.tsx';
import { Act } from './parts/dialog.tsx';
import { Bones, Page, Problem } from './parts/page.tsx';
import { roomsOf } from './routes.ts';
import { useConsole, useSessionState } from './session/console-context.ts';
import type { Person } from './session/session.ts';
import { SessionEnded, SignInPages } from './sign-in.tsx';

export function App() {
  return (
    <>
      <Screen />
      <Announcements />
    </>
  );
}

function Screen() {
  const { session } = useConsole();
  const state = useSessionState();
  const [path] = useLocation();
  const isMailedLink = ['/invitation', '/reset-password', '/verify-email'].includes(path);
  if (state.status === 'opening') {
    return (
      <div className="alone">
        <main>
          <Bones />
        </main>
      </div>
    );
  }
  if (state.status === 'unreachable') {
    return (
      <div className="alone">
        <main>
          <Problem error={state.error} retry={session.open} />
        </main>
      </div>
    );
  }
  if (state.status === 'out' || isMailedLink) return <SignInPages />;
  // Keyed by user, so that what one user opened or typed is never shown to another who logs in.
  return (
    <Fragment key={state.person.id}>
      <Frame person={state.person} />
      {state.hasEnded && <SessionEnded person={state.person} />}
    </Fragment>
  );
}

function Frame({ person }: { person: Person }) {
  const rooms = roomsOf(person);
  const [path] = useLocation();
  return (
    <div className="frame">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <Side person={person} />
      <main id="content">
        <AccountNotices person={person} />
        <PageBoundary key={path}>
          <Switch>
            {rooms.flatMap(({ places }) =>
              places.map((place) => <Route key={place.path} path={place.path} component={place.page} />),
            )}
            <Route component={Nowhere} />
          </Switch>
        </PageBoundary>
      </main>
      <StepUpDialog />
    </div>
  );
}

function Side({ person }: { person: Person }) {
  const { session, icon } = useConsole();
  const [path] = useLocation();
  const [isOpen, setOpen] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes on every navigation
  useEffect(() => {
    setOpen(false);
    document.querySelector('.side [aria-current=page]')?.scrollIntoView({ block: 'nearest' });
  }, [path]);
  const menu = useRef<HTMLButtonElement>(null);
  useEscape(isOpen, () => {
    setOpen(false);
    menu.current?.focus();
  });
  return (
    <header className="side" data-open={isOpen}>
      <div className="side-head">
        <Link href="/" className="brand">
          <img src={icon} alt="" />
          Turnpike
        </Link>
        <button
          ref={menu}
          type="button"
          className="menu-button"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          Menu
        </button>
      </div>
      <nav aria-label="Pages">
        {roomsOf(person).map((room) => (
          <div key={room.name}>
            <h2>{room.name}</h2>
            <ul>
              {room.places
                .filter(({ name }) => name !== undefined)
                .map((place) => (
                  <li key={place.path}>
                    <Link href={place.path} aria-current={isWithin(place.path, path) ? 'page' : undefined}>
                      {place.name}
                    </Link>
                  </li>
                ))}
            </ul>
          </div>
        ))}
      </nav>
      <div className="who small">
        <span title={person.email}>{person.email}</span>
        <Act name="Log out" work={session.logOut} />
      </div>
    </header>
  );
}

/** Escape of an open dialog belongs to the dialog. */
function useEscape(isActive: boolean, leave: () => void) {
  const latest = useRef(leave);
  latest.current = leave;
  useEffect(() => {
    if (!isActive) return;
    const pressed = ({ key }: KeyboardEvent) => {
      if (key === 'Escape' && document.querySelector('dialog[open]') === null) latest.current();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, [isActive]);
}

/** The page of a job is within the list of jobs. */
function isWithin(place: string, path: string): boolean {
  return place === path || (place !== '/' && path.startsWith(`${place}/`));
}

function Nowhere() {
  return (
    <Page title="There is no such page" says="The address may be mistyped, or the page is not for your role.">
      <p>
        <Link href="/">Back to the beginning</Link>
      </p>
    </Page>
  );
}
