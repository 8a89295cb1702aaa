import 'uplot/dist/uPlot.min.css';
import './style/tokens.css';
import './style/layout.css';
import './style/parts.css';
import './style/lists.css';
import './style/reading.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import icon from './icon.svg';
import { ConsoleContext } from './session/console-context.ts';
import { returnToPage } from './session/return-to-page.ts';
import { createSession } from './session/session.ts';
import { guardUnsaved } from './session/unsaved.ts';

const meta = (name: string) => document.querySelector<HTMLMetaElement>(`meta[name=${name}]`)?.content ?? '';
const gatewayUrl = meta('gateway-url');
const canSignUp = meta('sign-up') === 'open';
const oidcName = meta('oidc-name');
const hasDemoWorld = meta('demo-world') === 'on';
const trialCredits = Number(meta('trial-credits'));
const place = document.getElementById('console');
if (place === null) throw new Error('the shell has no place for the console');
guardUnsaved();
const session = createSession();
const isNew = returnToPage();
void session.open({ isNew });
// An error that the boundary shows is not logged to the browser's console as well.
createRoot(place, { onCaughtError: () => undefined }).render(
  <StrictMode>
    <ConsoleContext value={{ session, gatewayUrl, canSignUp, oidcName, trialCredits, hasDemoWorld, icon }}>
      <App />
    </ConsoleContext>
  </StrictMode>,
);
