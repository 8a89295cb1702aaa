/** The thread of an embedded database that is used by one process only. */
import { serveThread } from './thread.ts';

serveThread(null);
