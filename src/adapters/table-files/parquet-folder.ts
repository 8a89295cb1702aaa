import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync } from 'hyparquet';
import { fileWriter, ParquetWriter, schemaFromColumnData } from 'hyparquet-writer';
import type { ColumnType, TableFiles } from '../../ports/table-files.ts';

const OWNER_ONLY = 0o600;
const FOLDER_OF_OWNER = 0o700;
/** In the metadata of a file. */
const MARK = 'turnpike.mark';

/** Apache Parquet files, compressed with Snappy and readable only by their owner. The folder must exist. */
export function openParquetFolder(folder: string): TableFiles {
  return {
    async folders() {
      const entries = await readdir(folder, { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    },
    async contentOf(path) {
      try {
        const read = await parquetMetadataAsync(await asyncBufferFromFile(join(folder, path)));
        const mark = read.key_value_metadata?.find(({ key }) => key === MARK)?.value ?? null;
        return { rows: Number(read.num_rows), mark };
      } catch {
        return { rows: 0, mark: null };
      }
    },
    async write(path, columns, groups, mark) {
      const target = join(folder, path);
      await mkdir(dirname(target), { recursive: true, mode: FOLDER_OF_OWNER });
      const unfinished = join(dirname(target), `.${process.pid}.unfinished`);
      try {
        const rows = await writeFile(unfinished, columns, groups, mark);
        await rename(unfinished, target);
        return rows;
      } finally {
        await rm(unfinished, { force: true });
      }
    },
  };
}

async function writeFile(
  path: string,
  columns: Readonly<Record<string, ColumnType>>,
  groups: AsyncIterable<readonly Readonly<Record<string, unknown>>[]>,
  mark: string,
): Promise<number> {
  const columnsOf = (rows: readonly Readonly<Record<string, unknown>>[]) =>
    Object.entries(columns).map(([name, type]) => ({
      ...{ name, type, nullable: true },
      data: rows.map((row) => row[name]),
    }));
  const file = await open(path, 'w', OWNER_ONLY);
  try {
    const schema = schemaFromColumnData({ columnData: columnsOf([]) });
    const parquet = new ParquetWriter({
      ...{ writer: fileWriter(path), schema },
      kvMetadata: [{ key: MARK, value: mark }],
    });
    let written = 0;
    for await (const rows of groups) {
      await parquet.write({ columnData: columnsOf(rows), rowGroupSize: rows.length });
      written += rows.length;
    }
    await parquet.finish();
    await file.sync();
    return written;
  } finally {
    await file.close();
  }
}
