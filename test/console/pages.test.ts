/** Every page once: it loads, fits into the window, and the browser has nothing to complain of. */
import { isWholeOnce } from './page-checks.ts';
import { walkPages } from './walk-pages.ts';

walkPages('whole on a wide screen', isWholeOnce);
