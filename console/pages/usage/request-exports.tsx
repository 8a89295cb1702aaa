import { useEffect, useRef, useState } from 'react';
import { saveBlob } from '../../parts/files.ts';
import { Problem } from '../../parts/page.tsx';
import { AnswerError, offline, refusalOf } from '../../session/answer-error.ts';
import { useConsole } from '../../session/console-context.ts';
import { isSecondOfTwo, useAction } from '../../session/use-query.ts';

/** Names of the filter as parameters of the export, where they differ. */
const PARAMETERS: Readonly<Record<string, string>> = {
  ...{ companyId: 'company_id', apiKeyId: 'api_key_id', endUser: 'user', requestId: 'request_id' },
  ...{ minDurationMs: 'min_duration_ms', minCredits: 'min_credits' },
};

const FORMATS = [
  ['csv', 'Export CSV'],
  ['jsonl', 'Export JSON Lines'],
] as const;

/** Exports all matching calls, not only those on the page. Leaving the page ends an export. */
export function Exports({ filter }: { filter: Readonly<Record<string, string | number>> }) {
  const { session } = useConsole();
  const action = useAction();
  const [running, setRunning] = useState<{ readonly format: string; readonly bytes: number } | null>(null);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);
  const save = (format: 'csv' | 'jsonl') =>
    action.run(async () => {
      const search = new URLSearchParams({ format });
      for (const [name, value] of Object.entries(filter)) search.set(PARAMETERS[name] ?? name, String(value));
      const headers = { authorization: `Bearer ${await session.token()}` };
      control.current = new AbortController();
      const { signal } = control.current;
      setRunning({ format, bytes: 0 });
      try {
        const response = await fetch(`/calls/export?${search}`, { headers, signal }).catch(() => {
          throw offline();
        });
        if (!response.ok) throw await refusalOf(response);
        saveBlob(`requests.${format}`, await wholeFile(response, (bytes) => setRunning({ format, bytes })));
      } finally {
        setRunning(null);
      }
    });
  return (
    <>
      {FORMATS.map(([format, name]) => (
        <button
          key={format}
          type="button"
          aria-disabled={action.isBusy}
          onClick={(event) => action.isBusy || isSecondOfTwo(event) || void save(format)}
        >
          {running?.format === format ? `Exporting… ${megabytes(running.bytes)}` : name}
        </button>
      ))}
      <Problem error={action.error} />
    </>
  );
}

const SHOWN_EVERY_MS = 300;

/** The body as a file, or an error if the connection ends before its end. */
async function wholeFile(response: Response, progress: (bytes: number) => void): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const reader = response.body?.getReader();
  let [bytes, shownAt] = [0, performance.now()];
  try {
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      parts.push(next.value);
      bytes += next.value.length;
      if (performance.now() - shownAt < SHOWN_EVERY_MS) continue;
      shownAt = performance.now();
      progress(bytes);
    }
  } catch {
    throw new AnswerError(
      'The connection ended before the export was complete, so no file was saved. Try again, or export a shorter time.',
      'OFFLINE',
      null,
    );
  }
  return new Blob(parts, { type: response.headers.get('content-type') ?? '' });
}

const megabytes = (bytes: number) => (bytes === 0 ? '' : `${(bytes / 1_000_000).toFixed(1)} MB`);
