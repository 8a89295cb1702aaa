/**
 * Requests to, and notifications from, another process of this machine. Messages are cloned structurally: bigint, Date and
 * bytes keep their types.
 */
export interface RequestChannel {
  /** Rejects with the error of the other side, its fields included, or with a ChannelFailure. */
  ask(request: unknown): Promise<unknown>;
  isOpen(): boolean;
  close(): void;
}

/** One for each connection. */
export interface ChannelSession {
  answer(request: unknown): Promise<unknown>;
  /** The other side has closed the connection, or its process has ended. */
  left(): void;
}

export type OpenSession = (tell: (event: unknown) => void) => ChannelSession;

export interface ChannelServer {
  close(): void;
}

/** Of a request that was sent it is unknown whether it took effect. */
export interface ChannelFailure extends Error {
  readonly name: 'ChannelFailure';
}
