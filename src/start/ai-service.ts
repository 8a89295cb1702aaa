/** `npm run start:ai`: the AI service and its workers alone. */
import { announceDemoWorld, configuredAddresses } from './demo-file.ts';
import { openJobs } from './jobs.ts';
import { run } from './run.ts';
import { drainTogether, startService } from './start-service.ts';
import { startAiService } from './surfaces.ts';

await run('ai-service', (configuration) =>
  startService(configuration, async (opening) => {
    await announceDemoWorld(opening, configuredAddresses(configuration));
    const jobs = await openJobs(opening);
    const server = startAiService(opening, await jobs.startWorkers());
    drainTogether(opening, [server]);
    return `AI service ${server.url}`;
  }),
);
