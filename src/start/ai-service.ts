/** `npm run start:ai`: the AI service and its workers alone. */
import { NAMED_WORKERS } from '../ai-service/health.ts';
import { announceDemoWorld, configuredAddresses } from './demo-file.ts';
import { documentWork } from './document-work.ts';
import { openJobs } from './jobs.ts';
import { openMatching } from './matching.ts';
import { meetingWork } from './meeting-work.ts';
import { openModelParts } from './open-models.ts';
import { openPayments } from './open-payments.ts';
import { run } from './run.ts';
import { drainTogether, startService } from './start-service.ts';
import { startAiService } from './surfaces.ts';
import { tellOfProcess } from './tell-of-process.ts';

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
    tellOfProcess(opening, {
      services: ['ai-service'],
      breakers: modelParts.breakers,
      workers: { board, names: NAMED_WORKERS },
      jobRates: jobs.rates,
    });
    drainTogether(opening, [server]);
    return `AI service ${server.url}`;
  }),
);
