/** The thread of an embedded database that one process has to itself. */
import { serveThread } from './thread.ts';

serveThread(null);
