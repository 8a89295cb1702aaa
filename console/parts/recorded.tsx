/** Recorded values of reports and logs in readable form: names for ids, credits for micro-credits, local times. */
import type { ReactNode } from 'react';
import { endOf, useObjectNames } from '../session/object-names.ts';
import { Copy } from './dialog.tsx';
import { exact, fieldLabel, fieldWords, isUuid, partsByIds, readable, relative } from './format.ts';

/** A relative time, with the exact one below it. */
export function When({ at }: { at: string }) {
  return (
    <>
      <time dateTime={at}>{relative(at, Date.now())}</time>
      <div className="quiet small">{exact(at)}</div>
    </>
  );
}

/** The name of the object with this id, followed by the id to copy. An id that is not a UUID is shown as it is. */
export function Named({ id }: { id: string }) {
  const nameOf = useObjectNames();
  if (!isUuid(id)) return <code>{id}</code>;
  const name = nameOf(id);
  return (
    <>
      {name !== null && <span>{name} </span>}
      <code className={name === null ? undefined : 'quiet small'}>{id}</code>{' '}
      <Copy text={id} label={`Copy the id ${endOf(id)}`} />
    </>
  );
}

/**
 * A sentence of a report with names instead of ids. An unknown id is shortened to its end; the whole id is shown on
 * hover.
 */
export function Sentence({ text }: { text: string }) {
  const nameOf = useObjectNames();
  const parts = partsByIds(text);
  return (
    <span className="said">
      {parts.map((part, at) =>
        at % 2 === 0 ? (
          readable(part)
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text, which have no state
          <span key={at} title={part}>
            {nameOf(part) ?? endOf(part)}
          </span>
        ),
      )}
    </span>
  );
}

/** Label and value of a recorded field. */
export function recordedField(name: string, value: unknown): readonly [string, ReactNode] {
  const isId = typeof value === 'string' && isUuid(value);
  return [fieldLabel(name), isId ? <Named key="id" id={value} /> : fieldWords(name, value)];
}
