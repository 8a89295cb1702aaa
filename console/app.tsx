import { Fragment, useEffect, useRef, useState } from 'react';
import { Link, matchRoute, Route, Switch, useLocation, useRouter } from 'wouter';
import { AccountNotices, StepUpDialog } from './account-notices.tsx';
import { PageBoundary } from './page-boundary.tsx';
import { Announcements } from './parts/announce.tsx';
import { Act } from './parts/dialog.tsx';
import { Bones, Notice, Page, Problem } from './parts/page.tsx';
import { type Place, roomsOf } from './routes.ts';
import { useConsole, useSessionState } from './session/console-context.ts';
import type { Person } from './session/session.ts';
import { questionBeforeLeaving } from './session/unsaved.ts';
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
  const [path] = useLocation();
  const { places, isClosed } = usePlaces(person, path);
  return (
    <div className="frame">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <Side person={person} />
      <main id="content">
        <AccountNotices person={person} />
        {isClosed && (
          <Notice mood="warn">
            Your role was changed, and this page is not for it: what you typed can no longer be saved. Copy
            what you need before you leave.
          </Notice>
        )}
        <PageBoundary key={path}>
          <Switch>
            {places.map((place) => (
              <Route key={place.path} path={place.path} component={place.page} />
            ))}
            <Route component={Nowhere} />
          </Switch>
        </PageBoundary>
      </main>
      <StepUpDialog />
    </div>
  );
}

/**
 * The pages of the user. If another role has closed the open one, and it would lose input or a secret, it is still among
 * them until the user leaves it.
 */
function usePlaces(person: Person, path: string) {
  const { parser } = useRouter();
  const places = roomsOf(person).flatMap(({ places }) => places);
  const place = places.find((one) => matchRoute(parser, one.path, path)[0]);
  const opened = useRef({ path, place, isClosed: false });
  const { current } = opened;
  if (place !== undefined || current.path !== path) opened.current = { path, place, isClosed: false };
  // Asked once: input is not unsent while it is being sent, and that is refused now.
  else current.isClosed ||= current.place !== undefined && questionBeforeLeaving() !== null;
  const { place: last, isClosed } = opened.current;
  return { places: isClosed && last !== undefined ? [...places, last] : places, isClosed };
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
  const rooms = roomsOf(person);
  // A page may have a second address: the first page of a role, or one that it had before.
  const second = rooms.flatMap(({ places }) => places).find((place) => place.path === path && !place.name);
  const isCurrent = (place: Place) => isWithin(place.path, path) || place.page === second?.page;
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
        {rooms.map((room) => (
          <div key={room.name}>
            <h2>{room.name}</h2>
            <ul>
              {room.places
                .filter(({ name }) => name !== undefined)
                .map((place) => (
                  <li key={place.path}>
                    <Link href={place.path} aria-current={isCurrent(place) ? 'page' : undefined}>
                      {place.name}
                    </Link>
                  </li>
                ))}
            </ul>
          </div>
        ))}
      </nav>
      <div className="who small" data-leaves="">
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
