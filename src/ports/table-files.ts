export type ColumnType = 'STRING' | 'TIMESTAMP' | 'INT32' | 'INT64' | 'BOOLEAN';

/** A folder of columnar files for analytics. Paths are relative to it. */
export interface TableFiles {
  /** The names of the folders that are directly in it. */
  folders(): Promise<readonly string[]>;
  /** No rows if the file does not exist or cannot be read. */
  contentOf(path: string): Promise<FileContent>;
  /**
   * Writes a file from groups of rows and replaces the previous one atomically, once all of it is on the disk. If that
   * fails, the previous file stays. The mark is stored with it.
   */
  write(
    path: string,
    columns: Readonly<Record<string, ColumnType>>,
    groups: AsyncIterable<readonly Readonly<Record<string, unknown>>[]>,
    mark: string,
  ): Promise<number>;
}

interface FileContent {
  readonly rows: number;
  /** What the file was written with; null if it has none. */
  readonly mark: string | null;
}
