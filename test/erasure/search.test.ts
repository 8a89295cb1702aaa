import { expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import { givenRedis } from '../services/given.ts';
import { describeRedis, useRedis } from '../setup/use-redis.ts';
import { searchRedis } from './search.ts';

const WORDS = ['Snollygoster', 'absent'];

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
