/** Printed by `npm run check`: how many product files src has and how long they are. decisions/0023 has the aims. */
import { posix } from 'node:path';
import { fullestFolder, isProductCode, lineCount, longestFile, longestTestFile } from './sizes.ts';
import { readTree } from './tree.ts';

const tree = readTree(posix.join(import.meta.dir, '../..'));
const files = tree.filter((file) => file.path.startsWith('src/') && isProductCode(file));
const lengths = files.map(lineCount).sort((one, other) => one - other);
const total = lengths.reduce((sum, lines) => sum + lines, 0);
const median = lengths[Math.floor((lengths.length - 1) / 2)] ?? 0;
const under = (limit: number) => lengths.filter((lines) => lines < limit).length;
const share = Math.round((under(40) / lengths.length) * 100);
console.log(
  `src: ${files.length} product files, ${total} lines, median ${median}, ` +
    `${under(40)} under 40 lines (${share} %), ${under(60)} under 60, ` +
    `${lengths.filter((lines) => lines > longestFile).length} over ${longestFile}`,
);
const folders = Map.groupBy(files, ({ path }) => posix.dirname(path));
const full = [...folders].filter(([, inside]) => inside.length > fullestFolder);
console.log(`folders of more than ${fullestFolder} source files: ${full.length}`);
for (const [path, inside] of full) console.log(`  ${path} ${inside.length}`);
const longTests = tree.filter((file) => /\.test\.tsx?$/.test(file.path) && lineCount(file) > longestTestFile);
console.log(`tests over ${longestTestFile} lines: ${longTests.length}`);
