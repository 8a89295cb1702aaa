import { connect } from 'node:net';
import { makeServiceFolder, onFreePort, type PrivateService, startService } from './private-service.ts';
import { serviceAccount } from './service-account.ts';

/** A Redis of this run alone, on 127.0.0.1, that keeps nothing. */
export async function startPrivateRedis(program: string, folder: string): Promise<PrivateService> {
  const account = serviceAccount();
  const home = makeServiceFolder(folder, 'redis', account);
  return onFreePort((port) =>
    startService({
      name: 'redis',
      command: [
        program,
        ...['--port', `${port}`, '--bind', '127.0.0.1', '--dir', home],
        ...['--save', '', '--appendonly', 'no', '--daemonize', 'no'],
      ],
      account,
      folder: home,
      url: `redis://127.0.0.1:${port}`,
      isReady: () => answersPing(port),
    }),
  );
}

/** By hand, because a Redis client would go on trying to connect by a schedule of its own. */
function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const say = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(2_000, () => say(false));
    socket.on('connect', () => socket.write('PING\r\n'));
    socket.on('data', (answer) => say(answer.toString().startsWith('+PONG')));
    socket.on('error', () => say(false));
    socket.on('close', () => say(false));
  });
}
