import { expect, test } from 'bun:test';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisClient } from 'bun';
import { givenRedis } from '../services/given.ts';
import { useDatabase } from '../setup/use-database.ts';
import { describeRedis, useRedis } from '../setup/use-redis.ts';
import { searchFiles, searchRedis, searchTables } from './search.ts';

const database = useDatabase();
const WORDS = ['Snollygoster', 'absent'];

test('a search finds a word in texts, lists, JSON and bytes of a table', async () => {
  await database.script(
    `create schema searched;
     create table searched.texts as select 'a SNOLLYGOSTER' as value;
     create table searched.lists as select array['a', 'snollygosters'] as value;
     create table searched.objects as select '{"snollygoster": 1}'::jsonb as value;
     create table searched.bytes as select convert_to('CV of Snollygoster', 'UTF8') as value;
     create table searched.others as select 'nothing' as value`,
  );
  const tables = ['bytes', 'lists', 'objects', 'texts'].map((name) => [`searched.${name}`, ['Snollygoster']]);
  expect(await searchTables(database, WORDS)).toEqual(Object.fromEntries(tables));
});

test('and in a file of any folder below', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-search-'));
  await mkdir(join(folder, 'below'));
  await writeFile(join(folder, 'below', 'mail.eml'), 'Dear Snollygoster');
  await writeFile(join(folder, 'other'), 'Dear all');
  expect(await searchFiles(folder, WORDS)).toEqual({ 'below/mail.eml': ['Snollygoster'] });
  await rm(folder, { recursive: true });
});

describeRedis('of Redis', () => {
  const prefix = useRedis().newPrefix();

  test('in the names of keys and in values of every type', async () => {
    const redis = new RedisClient(givenRedis() ?? '');
    const key = (name: string) => `{${prefix}}:${name}`;
    await redis.send('SET', [key('text'), 'snollygoster']);
    await redis.send('SET', [key('snollygoster'), '1']);
    await redis.send('SET', [key('other'), '1']);
    await redis.send('HSET', [key('hash'), 'field', 'snollygoster']);
    await redis.send('SADD', [key('set'), 'snollygoster']);
    await redis.send('ZADD', [key('sorted'), '1', 'snollygoster']);
    await redis.send('RPUSH', [key('list'), 'snollygoster']);
    await redis.send('XADD', [key('stream'), '*', 'field', 'snollygoster']);
    const found = Object.keys(await searchRedis(prefix, WORDS)).toSorted();
    const names = ['hash', 'list', 'set', 'snollygoster', 'sorted', 'stream', 'text'];
    expect(found).toEqual(names.map(key));
    for (const name of [...names, 'other']) await redis.send('DEL', [key(name)]);
    redis.close();
  });
});
