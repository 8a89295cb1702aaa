import { setDefaultTimeout } from 'bun:test';

// A first start builds a whole database cluster: seconds on an idle machine, more on a busy one.
setDefaultTimeout(60_000);
