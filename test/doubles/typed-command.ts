import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import type { Command, OpenedSystem } from '../../src/command-line/command.ts';
import type { Database } from '../../src/ports/database.ts';
import type { SharedState } from '../../src/ports/shared-state.ts';
import type { TableFiles } from '../../src/ports/table-files.ts';
import { createManualClock } from './manual-clock.ts';

export interface TypedParts
  extends Pick<OpenedSystem, 'payments' | 'paymentProvider'>,
    Partial<Pick<OpenedSystem, 'cipher' | 'answerCipher' | 'jobQueue' | 'mailOutbox'>> {
  readonly database: Database;
  readonly sharedState?: SharedState;
  readonly isProduction?: boolean;
  readonly tableFiles?: (folder: string) => Promise<TableFiles>;
}

/** Runs a command as if an operator had typed it; complaints are marked by an exclamation mark. */
export async function typedCommand(parts: TypedParts, command: Command, ...words: string[]) {
  const clock = createManualClock();
  const lines: string[] = [];
  const never = () => Promise.reject(new Error('not in this test'));
  const exitCode = await command.run(
    {
      terminal: {
        print: (line) => void lines.push(line),
        complain: (line) => void lines.push(`! ${line}`),
      },
      clock,
      secrets: createSystemSecrets(),
      sharedState: createInProcessState({ clock }),
      aliasPrefix: 'acme',
      cipher: never,
      answerCipher: never,
      accessTokens: never,
      migrate: never,
      jobQueue: {} as never,
      mailOutbox: { send: never },
      ...parts,
    },
    words,
  );
  return { exitCode, lines };
}
