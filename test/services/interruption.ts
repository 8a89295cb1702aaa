const signals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

export interface Interruption {
  /** Aborts with the first of the signals. */
  readonly signal: AbortSignal;
  /** What the shell expects of a program that a signal ended; null while none has. */
  exitCode(): number | null;
}

/** From now on these signals end the run in order, rather than at once. */
export function listenForInterruption(): Interruption {
  const controller = new AbortController();
  let exitCode: number | null = null;
  const interrupt = (code: number) => {
    if (exitCode !== null) return;
    exitCode = code;
    controller.abort();
  };
  for (const [name, code] of Object.entries(signals)) process.on(name, () => interrupt(code));
  whenNpmIsGone(() => interrupt(signals.SIGTERM));
  return { signal: controller.signal, exitCode: () => exitCode };
}

/**
 * `npm test` puts a shell between itself and us, and a SIGTERM to npm ends both without a word to us. Our
 * parent is another one then.
 */
function whenNpmIsGone(act: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    act();
  }, 250);
  timer.unref();
}
