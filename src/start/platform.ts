/** The second process of `npm start`: the backend, the AI service, their background jobs and the payment sandbox. */
import { run } from './processes/lifecycle.ts';
import { platformOrder, reportPlatform } from './processes/platform-process.ts';
import { drainTogether, startService } from './processes/start-service.ts';
import { openModelParts } from './wiring/open-models.ts';
import { openPlatform } from './wiring/open-platform.ts';

const { gatewayUrl, attached } = await platformOrder();

await run('everything', (configuration) =>
  startService(
    configuration,
    async (opening) => {
      const modelParts = await openModelParts(opening);
      const platform = await openPlatform(opening, modelParts, gatewayUrl, ['backend', 'ai-service']);
      drainTogether(opening, platform.servers);
      reportPlatform(opening, platform.places);
      return null;
    },
    attached,
  ),
);
