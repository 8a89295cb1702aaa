import { type ReactNode, useState } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { Act, Dialog } from './parts/dialog.tsx';
import { CodeField, Field, Form } from './parts/form.tsx';
import { Card, Notice, Page } from './parts/page.tsx';
import { AnswerError } from './session/answer-error.ts';
import { useConsole } from './session/console-context.ts';
import { graphql } from './session/graphql.ts';
import { comeBackHere } from './session/return-to-page.ts';
import type { Person, SignInRoute } from './session/session.ts';

const VERIFY = graphql(`mutation($token: String!) { verifyEmail(token: $token) }`);
const REQUEST_RESET = graphql(`mutation($email: String!) { requestPasswordReset(email: $email) }`);
const PASSWORD = {
  name: 'password',
  type: 'password',
  minLength: 10,
  maxLength: 512,
  required: true,
} as const;

/** Why signing in with the identity provider failed, by the code in the URL. */
const SIGN_IN_PROBLEMS = new Map([
  ['failed', 'The sign-in did not succeed. Try again; if it fails again, contact your administrator.'],
  ['busy', 'There were too many attempts. Try again in a quarter of an hour.'],
  ['unverified', 'Your identity provider has not verified your e-mail address. Verify it there first.'],
  ['domain', 'Addresses of your domain cannot sign in here.'],
  ['unknown', 'You have no account here. Ask an admin of your company for an invitation.'],
  ['closed', 'Accounts are not created automatically here. Ask an admin of your company for an invitation.'],
  ['full', 'Your company has reached its number of members. Ask your administrator.'],
  ['linked', 'Your address belongs to an account of another identity. Ask your administrator.'],
  [
    'unproven',
    'The address of your account was never verified. Log in with your password and verify it first.',
  ],
]);

/** The pages for visitors without a session. Any other URL shows the login first, and its page afterwards. */
export function SignInPages() {
  const { icon, canSignUp } = useConsole();
  return (
    <div className="alone">
      <main>
        <div className="brand">
          <img src={icon} alt="" />
          Turnpike
        </div>
        <Switch>
          {canSignUp && <Route path="/sign-up" component={SignUp} />}
          <Route path="/forgotten-password" component={Forgotten} />
          <Route path="/invitation" component={Invitation} />
          <Route path="/reset-password" component={Reset} />
          <Route path="/verify-email" component={VerifyEmail} />
          <Route component={LogIn} />
        </Switch>
      </main>
    </div>
  );
}

function useSignIn() {
  const { session } = useConsole();
  const [path, navigate] = useLocation();
  return async (route: SignInRoute, variables: object) => {
    await session.signIn(route, variables);
    if (/^\/(?:log-in|sign-up|invitation|reset-password|forgotten-password)$/.test(path)) {
      navigate('/', { replace: true });
    }
  };
}

/** Sends the form again with a code if the server requires one. */
function useCode() {
  const signIn = useSignIn();
  const [isNeeded, setNeeded] = useState(false);
  const send = async (route: SignInRoute, variables: object, totp: string) => {
    try {
      await signIn(route, isNeeded ? { ...variables, totp } : variables);
    } catch (error) {
      if (!(error instanceof AnswerError) || error.code !== 'TOTP_REQUIRED') throw error;
      setNeeded(true);
    }
  };
  return { send, field: isNeeded ? <CodeField orRecoveryCode isFirst /> : null };
}

function LogIn() {
  const { canSignUp, hasDemoWorld } = useConsole();
  const problem = SIGN_IN_PROBLEMS.get(new URLSearchParams(location.search).get('sign-in') ?? '');
  return (
    <Page title="Log in">
      {problem !== undefined && <Notice mood="bad">{problem}</Notice>}
      <LogInForm />
      <p className="row spread">
        {canSignUp ? <Link href="/sign-up">Sign up a company</Link> : <span />}
        <Link href="/forgotten-password">Forgot the password?</Link>
      </p>
      {hasDemoWorld && (
        <p className="quiet small">
          The log-ins of the demo company are in <code>demo.json</code>, in the data folder of the server (
          <code>DATA_DIR</code>, or <code>.data</code> if that is not set).
        </p>
      )}
    </Page>
  );
}

function LogInForm({ email = '', beside }: { email?: string; beside?: ReactNode }) {
  const { oidcName } = useConsole();
  const code = useCode();
  return (
    <>
      {oidcName !== '' && (
        <Card>
          <a className="button" href="/session/oidc" onClick={comeBackHere}>
            Sign in with {oidcName}
          </a>
        </Card>
      )}
      <Card>
        <Form
          submit="Log in"
          beside={beside}
          send={({ text, password }) =>
            code.send('login', { email: text('email'), password: password('password') }, text('totp'))
          }
        >
          <Field
            label="E-mail"
            name="email"
            type="email"
            autoComplete="username"
            defaultValue={email}
            required
          />
          <Field label="Password" name="password" type="password" autoComplete="current-password" required />
          {code.field}
        </Form>
      </Card>
    </>
  );
}

/** Covers the page so that nothing on it can be read. The page stays mounted, so that what was typed is not lost. */
export function SessionEnded({ person }: { person: Person }) {
  const { session } = useConsole();
  const leave = <Act name="Leave this page" isBig work={session.logOut} />;
  return (
    <Dialog title="Your session has ended" isCovering close={() => undefined}>
      <p>Log in to continue where you are. If another person logs in, this page is closed.</p>
      <LogInForm email={person.email} beside={leave} />
    </Dialog>
  );
}

function SignUp() {
  const signIn = useSignIn();
  return (
    <Page title="Sign up" says="Create a company. You become its admin.">
      <Card>
        <Form
          submit="Sign up"
          send={({ text, password }) => {
            const names = { companyName: text('company'), email: text('email') };
            return signIn('sign-up', { input: { ...names, password: password('password') } });
          }}
        >
          <Field label="Company" name="company" autoComplete="organization" maxLength={200} required />
          <Field label="E-mail" name="email" type="email" autoComplete="username" required />
          <Field label="Password" hint="At least 10 characters." autoComplete="new-password" {...PASSWORD} />
        </Form>
      </Card>
      <p>
        <Link href="/">Log in instead</Link>
      </p>
    </Page>
  );
}

function Forgotten() {
  const { session } = useConsole();
  const [isSent, setSent] = useState(false);
  return (
    <Page title="Forgotten password">
      {isSent ? (
        <Notice mood="good">
          If an account has this address, we have sent a link to it. The link is valid for an hour.
        </Notice>
      ) : (
        <Card>
          <Form
            submit="Mail me a link"
            send={async ({ text }) => {
              await session.request(REQUEST_RESET, { email: text('email') });
              setSent(true);
            }}
          >
            <Field label="E-mail" name="email" type="email" autoComplete="username" required />
          </Form>
        </Card>
      )}
      <p>
        <Link href="/">Back to log in</Link>
      </p>
    </Page>
  );
}

function Invitation() {
  return (
    <WithToken title="Welcome" says="Choose a password to join." submit="Join" route="accept-invitation" />
  );
}

function Reset() {
  return (
    <WithToken
      title="New password"
      says="All other sessions are ended."
      submit="Set the password"
      route="reset-password"
    />
  );
}

/** The token is in the fragment of the mailed link, so that it appears in no log and no Referer header. */
function useMailedToken(): string {
  const [token] = useState(() => new URLSearchParams(location.hash.slice(1)).get('token') ?? '');
  return token;
}

function BrokenLink({ title }: { title: string }) {
  return (
    <Page title={title}>
      <Notice mood="warn">
        This link is incomplete. Open it from the e-mail again, or request a new one.
      </Notice>
      <p>
        <Link href="/">Log in</Link>
      </p>
    </Page>
  );
}

/** Verifies on a click, not on load: mail scanners open links, and the token works once. */
function VerifyEmail() {
  const { session } = useConsole();
  const token = useMailedToken();
  const [isDone, setDone] = useState(false);
  const verify = async () => {
    await session.request(VERIFY, { token });
    // First, so that the console does not ask for what is done.
    if (session.state().status === 'in') await session.open();
    setDone(true);
  };
  if (token === '') return <BrokenLink title="Verify your address" />;
  return (
    <Page title="Verify your address">
      <Card>
        {isDone ? (
          <Notice mood="good">The address is verified.</Notice>
        ) : (
          <Act name="Verify the address" main work={verify} />
        )}
      </Card>
      <p>
        <Link href="/">{isDone ? 'Continue to the console' : 'Back to the console'}</Link>
      </p>
    </Page>
  );
}

function WithToken({
  title,
  says,
  submit,
  route,
}: {
  title: string;
  says: string;
  submit: string;
  route: SignInRoute;
}) {
  const code = useCode();
  const token = useMailedToken();
  if (token === '') return <BrokenLink title={title} />;
  return (
    <Page title={title} says={says}>
      <Card>
        <Form
          submit={submit}
          send={({ text, password }) =>
            code.send(route, { token, password: password('password') }, text('totp'))
          }
        >
          <Field label="Password" hint="At least 10 characters." autoComplete="new-password" {...PASSWORD} />
          {code.field}
        </Form>
      </Card>
    </Page>
  );
}
