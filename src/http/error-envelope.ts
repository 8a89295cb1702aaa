/** The common format of errors: OpenAI's error schema, which requires `param`. */
export interface ErrorEnvelope {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: string | null;
    readonly param: string | null;
  };
}

export function errorEnvelope(
  type: string,
  message: string,
  code: string | null = null,
  param: string | null = null,
): ErrorEnvelope {
  return { error: { message, type, code, param } };
}

export function envelopeResponse(
  status: number,
  envelope: ErrorEnvelope,
  headers: Record<string, string> = {},
): Response {
  return Response.json(envelope, { status, headers });
}
