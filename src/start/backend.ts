/** `npm run start:backend`: the backend alone. */
import { announceDemoWorld, configuredAddresses } from './demo-file.ts';
import { run } from './run.ts';
import { drainTogether, startService } from './start-service.ts';
import { startBackend, startSandbox } from './surfaces.ts';

await run('backend', (configuration) =>
  startService(configuration, async (opening) => {
    await announceDemoWorld(opening, configuredAddresses(configuration));
    const server = startBackend(opening);
    // The sandbox stands in for the payment provider, whose client the backend is.
    const sandbox = configuration.paymentSandbox ? startSandbox(opening) : null;
    drainTogether(opening, sandbox === null ? [server] : [server, sandbox]);
    const also = sandbox === null ? '' : `, payment sandbox ${sandbox.url}`;
    return `backend and console ${server.url}${also}`;
  }),
);
