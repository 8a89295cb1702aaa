import { useMemo, useState } from 'react';
import { Act, Copy, Dialog } from '../../parts/dialog.tsx';
import { CodeField, Field, Form } from '../../parts/form.tsx';
import { Card, Notice, Tag } from '../../parts/page.tsx';
import { qrModules } from '../../parts/qr-code.ts';
import { useConsole } from '../../session/console-context.ts';
import { type DataOf, graphql } from '../../session/graphql.ts';
import type { Person } from '../../session/session.ts';

const BEGIN = graphql(`mutation { beginTotp { secret otpauthUrl } }`);
const CONFIRM = graphql(
  `mutation($code: String!, $password: String) { confirmTotp(code: $code, password: $password) { recoveryCodes } }`,
);
const NEW_CODES = graphql(`mutation($totp: String!) { createRecoveryCodes(totp: $totp) { recoveryCodes } }`);
const DISABLE = graphql(
  `mutation($password: String!, $totp: String!) { disableTotp(password: $password, totp: $totp) }`,
);

type Begun = DataOf<typeof BEGIN>['beginTotp'];

export function TwoFactor({ person }: { person: Person }) {
  const { session } = useConsole();
  const [begun, setBegun] = useState<Begun | null>(null);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const saved = async () => {
    setCodes(null);
    setBegun(null);
    await session.open();
  };
  if (codes !== null) return <RecoveryCodes codes={codes} saved={saved} />;
  if (person.totpEnabled) return <TurnedOn codesLeft={person.recoveryCodesLeft} show={setCodes} />;
  return (
    <Card title="Two-factor authentication" actions={<Tag mood="warn">Off</Tag>}>
      {person.mustSetUpTotp && (
        <Notice mood="warn">Super admins need it here. You get your permissions once it is set up.</Notice>
      )}
      {begun === null ? (
        <>
          <p className="quiet">
            A code from an authenticator app on your phone, in addition to the password, whenever you log in.
          </p>
          <div>
            <Act
              name="Set up two-factor authentication"
              main
              work={async () => setBegun((await session.request(BEGIN)).beginTotp)}
            />
          </div>
        </>
      ) : (
        <SetUp
          begun={begun}
          confirm={async (code, password) => {
            const { confirmTotp } = await session.request(CONFIRM, { code, password });
            setCodes(confirmTotp.recoveryCodes);
          }}
        />
      )}
    </Card>
  );
}

function SetUp({ begun, confirm }: { begun: Begun; confirm(code: string, password: string): Promise<void> }) {
  return (
    <>
      <p>
        Scan this with an authenticator app, or type the secret into it. Then enter the code that it shows.
      </p>
      <QrCode text={begun.otpauthUrl} />
      <div className="row">
        <code data-testid="totp-secret">{begun.secret}</code>
        <Copy text={begun.secret} name="Copy the secret" />
        <a href={begun.otpauthUrl}>Open in an app on this device</a>
      </div>
      <Form submit="Turn it on" send={({ text, password }) => confirm(text('totp'), password('password'))}>
        <CodeField />
        <Field
          label="Password"
          name="password"
          type="password"
          autoComplete="current-password"
          hint="Needed if you logged in more than 15 minutes ago."
        />
      </Form>
    </>
  );
}

const QUIET_ZONE = 4;

/** Dark on white in both colour schemes, as cameras expect. */
function QrCode({ text }: { text: string }) {
  const { size, path } = useMemo(() => {
    const modules = qrModules(text);
    const dark = modules.flatMap((row, y) =>
      row.flatMap((isDark, x) => (isDark ? [`M${x + QUIET_ZONE} ${y + QUIET_ZONE}h1v1h-1z`] : [])),
    );
    return { size: modules.length + 2 * QUIET_ZONE, path: dark.join('') };
  }, [text]);
  return (
    <svg
      className="qr-code"
      role="img"
      aria-label="QR code of the secret below"
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

function RecoveryCodes({ codes, saved }: { codes: readonly string[]; saved(): Promise<void> }) {
  return (
    <Card title="Recovery codes">
      <p>
        Each code logs you in once without your phone. Store them like passwords: they are shown only once.
      </p>
      <ul className="codes" data-shown-once="" data-testid="recovery-codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div className="row">
        <Copy text={codes.join('\n')} name="Copy the codes" />
        <Act name="I have saved them" main work={saved} />
      </div>
    </Card>
  );
}

function TurnedOn({ codesLeft, show }: { codesLeft: number; show(codes: readonly string[]): void }) {
  const { session } = useConsole();
  const [open, setOpen] = useState<'codes' | 'off' | null>(null);
  const close = () => setOpen(null);
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  return (
    <Card title="Two-factor authentication" actions={<Tag mood="good">On</Tag>}>
      <p className="quiet">
        {codesLeft} of 10 recovery codes {codesLeft === 1 ? 'is' : 'are'} left.{' '}
        {codesLeft < 3 && 'Get new ones before you need them.'}
      </p>
      <div className="row">
        <button type="button" onClick={() => setOpen('codes')}>
          New recovery codes
        </button>
        <button type="button" className="danger" onClick={() => setOpen('off')}>
          Turn it off
        </button>
      </div>
      {open === 'codes' && (
        <Dialog title="New recovery codes" close={close}>
          <p>Your current codes become invalid.</p>
          <Form
            submit="Get new codes"
            beside={cancel}
            send={async ({ text }) => {
              const { createRecoveryCodes } = await session.request(NEW_CODES, { totp: text('totp') });
              show(createRecoveryCodes.recoveryCodes);
            }}
          >
            <CodeField />
          </Form>
        </Dialog>
      )}
      {open === 'off' && (
        <Dialog title="Turn two-factor authentication off?" close={close}>
          <Form
            submit="Turn it off"
            isDanger
            beside={cancel}
            send={async ({ text, password }) => {
              await session.request(DISABLE, { password: password('password'), totp: text('totp') });
              await session.open();
            }}
          >
            <Field
              label="Password"
              name="password"
              type="password"
              autoComplete="current-password"
              required
            />
            <CodeField orRecoveryCode />
          </Form>
        </Dialog>
      )}
    </Card>
  );
}
