export type ColumnType = 'STRING' | 'TIMESTAMP' | 'INT32' | 'INT64' | 'BOOLEAN';

/** A folder of files in columns, for analytics. Paths are relative to it. */
export interface TableFiles {
  /** The names of the folders that are directly in it. */
  folders(): Promise<readonly string[]>;
  /** 0 where there is no such file, or none that can be read. */
  rowsIn(path: string): Promise<number>;
  /**
   * Writes a file from groups of rows and puts it in the place of the one before in one step, when all of it is on the disk.
   * Where that fails, the one before stays.
   */
  write(
    path: string,
    columns: Readonly<Record<string, ColumnType>>,
    groups: AsyncIterable<readonly Readonly<Record<string, unknown>>[]>,
  ): Promise<number>;
}
