/** The thread of the embedded database, with the socket through which the backend's process connects to it. */
import { serveThread } from '../../adapters/database/pglite/thread.ts';
import { serveChannel } from '../../adapters/request-channel/unix-socket.ts';

serveThread(serveChannel);
