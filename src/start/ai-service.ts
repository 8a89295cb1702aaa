/** `npm run start:ai`: the AI service and its workers alone. */
import { NAMED_WORKERS } from '../ai-service/health.ts';
import { announceDemoWorld, configuredAddresses } from './demo/demo-world.ts';
import { run } from './processes/lifecycle.ts';
import { reportProcess } from './processes/process-heartbeat.ts';
import { drainTogether, startService } from './processes/start-service.ts';
import { documentWork, meetingWork, openMatching } from './wiring/ai-workers.ts';
import { openJobs } from './wiring/background-jobs.ts';
import { openModelParts } from './wiring/open-models.ts';
import { openPayments } from './wiring/open-payments.ts';
import { startAiService } from './wiring/surfaces.ts';

await run('ai-service', (configuration) =>
  startService(configuration, async (opening) => {
    await announceDemoWorld(opening, configuredAddresses(configuration));
    const modelParts = await openModelParts(opening);
    const jobs = await openJobs(opening);
    const payments = openPayments(opening, jobs.queue, null);
    const work = [
      ...payments.work,
      ...documentWork(opening, modelParts),
      ...meetingWork(opening, modelParts, jobs.queue),
    ];
    const matching = await openMatching(opening, modelParts);
    const board = await jobs.startWorkers(work);
    const server = startAiService(opening, modelParts, board, matching, jobs.queue);
    reportProcess(opening, {
      services: ['ai-service'],
      breakers: modelParts.breakers,
      workers: { board, names: NAMED_WORKERS },
      jobRates: jobs.rates,
    });
    drainTogether(opening, [server]);
    return `AI service ${server.url}`;
  }),
);
