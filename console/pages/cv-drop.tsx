import { type DragEvent, useState } from 'react';
import { Problem } from '../parts/page.tsx';
import { useDoing } from '../session/use-asking.ts';

export interface CvFile {
  readonly name: string;
  readonly contentBase64: string;
}

const MAX_BYTES = 10 * 1024 * 1024;
const CHUNK = 0x8000;

/** By drop, or by the button for keyboards. One after the other, with what is done said. */
export function CvDrop({ add }: { add(file: CvFile): Promise<void> }) {
  const [isOver, setOver] = useState(false);
  const [done, setDone] = useState<string | null>(null);
  const doing = useDoing();
  const take = (files: readonly File[]) =>
    doing.run(async () => {
      for (const [at, file] of files.entries()) {
        setDone(`Sending ${at + 1} of ${files.length}: ${file.name}`);
        if (file.size > MAX_BYTES) throw new Error(`${file.name} is larger than 10 MiB.`);
        await add({ name: file.name, contentBase64: await base64Of(file) });
      }
      setDone(
        files.length === 1 ? 'Sent. It is being read.' : `${files.length} files sent. They are being read.`,
      );
    });
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void take([...event.dataTransfer.files]);
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the input inside is the way by keyboard */}
      <div
        className="drop"
        data-over={isOver}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <label className="field">
          <span>Drop CVs here, or choose them</span>
          <input
            type="file"
            multiple
            accept=".pdf,.docx,.html,.htm,.txt"
            disabled={doing.isBusy}
            onChange={(event) => void take([...(event.target.files ?? [])])}
          />
        </label>
      </div>
      <p className="quiet" role="status">
        {done}
      </p>
      <Problem error={doing.error} />
    </>
  );
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += CHUNK)
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}
