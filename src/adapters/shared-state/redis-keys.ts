/** The keys of one tag. Its braces put them into one slot of a cluster, so that one script may touch them all. */
export interface TagKeys {
  window(name: string): string;
  held(name: string): string;
  level(name: string): string;
}

export function tagKeys(prefix: string, tag: string): TagKeys {
  const start = `${prefix}:{${tag}}:`;
  return {
    window: (name) => `${start}window:${name}`,
    held: (name) => `${start}held:${name}`,
    level: (name) => `${start}level:${name}`,
  };
}

export function valueKey(prefix: string, key: string): string {
  return `${prefix}:value:${key}`;
}

/** Before the topic in a channel's name. */
export function channelPrefix(prefix: string): string {
  return `${prefix}:topic:`;
}
