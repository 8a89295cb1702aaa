/** `npm run start:ai`: only the AI service and its workers. */
import { announceDemoWorld } from './demo/demo-world.ts';
import { run } from './processes/lifecycle.ts';
import { reportProcess } from './processes/process-heartbeat.ts';
import { drainTogether, startService } from './processes/start-service.ts';
import { configuredAddresses } from './settings/addresses.ts';
import { openJobs } from './wiring/background-jobs.ts';
import { openModelParts } from './wiring/open-models.ts';
import { openPayments } from './wiring/open-payments.ts';
import { startAiService } from './wiring/start-ai-service.ts';

await run('ai-service', (configuration) =>
  startService(configuration, async (opening) => {
    await announceDemoWorld(opening, configuredAddresses(configuration));
    const modelParts = await openModelParts(opening);
    const jobs = await openJobs(opening);
    const payments = openPayments(opening, jobs.queue, null);
    const { server, workers } = await startAiService(opening, modelParts, jobs, payments);
    const { breakers, models } = modelParts;
    reportProcess(opening, { services: ['ai-service'], breakers, models, workers, jobRates: jobs.rates });
    drainTogether(opening, [server]);
    return `AI service ${server.url}`;
  }),
);
