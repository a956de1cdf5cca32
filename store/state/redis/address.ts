// The parts of REDIS_URL: checked before the first connection, and shown without the password.

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Number of the database. */
  readonly database: number;
}

/** `redis[s]://[[user]:password@]host[:port][/database]`; undefined for anything else. */
export function parseRedisUrl(text: string): RedisAddress | undefined {
  const url = URL.parse(text);
  if (url === null || !/^rediss?:$/.test(url.protocol) || url.hostname === '') return undefined;
  if (url.search !== '' || url.hash !== '' || !/^(\/[0-9]{0,4})?$/.test(url.pathname)) return undefined;
  const username = decoded(url.username);
  const password = decoded(url.password);
  if (username === undefined || password === undefined || (username !== '' && password === '')) return undefined;
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? 6_379 : Number(url.port),
    isTls: url.protocol === 'rediss:',
    username: username || undefined,
    password: password || undefined,
    database: Number(url.pathname.slice(1)),
  };
}

/** `parseRedisUrl`, which throws a TypeError for any other text. */
export function redisAddress(url: string): RedisAddress {
  const address = parseRedisUrl(url);
  if (address !== undefined) return address;
  throw new TypeError('the address of Redis must be redis[s]://[[user]:password@]host[:port]');
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
