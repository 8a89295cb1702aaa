/** A thread that computes results for this process, so that long computations do not block its event loop. */
export interface WorkerThread<Request, Result> {
  /**
   * Rejects if the computation fails, too many requests wait, or the thread breaks, hangs or is closed. The computation
   * is informed when `signal` is aborted, and may then end early.
   */
  call(request: Request, signal?: AbortSignal): Promise<Result>;
  /** Rejects the requests that wait. The next call starts a new thread. */
  close(): void;
}
