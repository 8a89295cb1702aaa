/** The thread of the embedded database, with the socket through which the backend's process reaches it. */
import { serveThread } from '../../adapters/database/pglite/thread.ts';
import { serveChannel } from '../../adapters/request-channel/unix-socket.ts';

serveThread(serveChannel);
