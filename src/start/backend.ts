/** `npm run start:backend`: only the backend. */
import { ensureDemoCatalog } from './demo/demo-catalog.ts';
import { announceDemoWorld } from './demo/demo-world.ts';
import { run } from './processes/lifecycle.ts';
import { reportProcess } from './processes/process-heartbeat.ts';
import { drainTogether, startService } from './processes/start-service.ts';
import { configuredAddresses } from './settings/addresses.ts';
import { openJobs } from './wiring/background-jobs.ts';
import { openPayments, startSandbox } from './wiring/open-payments.ts';
import { startBackend } from './wiring/start-backend.ts';

await run('backend', (configuration) =>
  startService(configuration, async (opening) => {
    const demoFile = await announceDemoWorld(opening, configuredAddresses(configuration));
    // The sandbox replaces the payment provider, and the backend is its client. It is opened before the jobs, so that it is
    // closed after them.
    const sandbox = startSandbox(opening);
    const jobs = await openJobs(opening);
    const payments = openPayments(opening, jobs.queue, sandbox?.url ?? null);
    const server = await startBackend(opening, jobs.queue, payments);
    reportProcess(opening, { services: ['backend'] });
    drainTogether(opening, [server]);
    await sandbox?.begin({ sandbox: sandbox.url, backend: server.url });
    if (sandbox !== null && demoFile !== null) {
      await ensureDemoCatalog({ ...opening, provider: payments.provider });
    }
    const also = sandbox === null ? '' : `, payment sandbox ${sandbox.url}`;
    return `backend and console ${server.url}${also}`;
  }),
);
