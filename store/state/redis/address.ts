// The parts of REDIS_URL and of what stands beside it: checked before the first connection, and shown without passwords.

/** What the address names: one server, the sentinels that know it, or nodes of a cluster that know the one with our keys. */
export type RedisKind = 'server' | 'sentinel' | 'cluster';

export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

export interface RedisLogin {
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** Texts in PEM. */
export interface RedisCertificates {
  /** The authorities that are trusted in place of those of the system. */
  readonly ca?: string | undefined;
  /** The certificate that is shown to the server, and its key. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface RedisAddress extends RedisLogin {
  readonly kind: RedisKind;
  /** The server; the sentinels; or nodes of the cluster, of which one that answers is enough. */
  readonly nodes: readonly [RedisNode, ...RedisNode[]];
  /** The name by which sentinels know the server; empty without sentinels. */
  readonly master: string;
  readonly isTls: boolean;
  /** Number of the database. */
  readonly database: number;
  /** For the sentinels. */
  readonly sentinelLogin: RedisLogin;
  readonly certificates: RedisCertificates;
}

/** An address and what does not fit into it. */
export interface RedisAccess {
  /** As `parseRedisUrl` takes it. */
  readonly url: string;
  readonly sentinelUsername?: string | undefined;
  readonly sentinelPassword?: string | undefined;
  readonly certificates?: RedisCertificates | undefined;
}

/** The address as text, alone or with what stands beside it. */
export type RedisUrl = string | RedisAccess;

/** How addresses look, for messages. */
export const redisUrlForms =
  'redis://user:password@host:6379/0, redis-sentinel://user:password@host1:26379,host2:26379/master/0 or redis-cluster://user:password@host1:6379,host2:6379, with rediss in place of redis for TLS';

const form = /^redis(s?)(?:[-+](sentinel|cluster))?:\/\/([^/?#]*)(\/[^?#]*)?$/i;
const ports: Readonly<Record<RedisKind, number>> = { server: 6_379, sentinel: 26_379, cluster: 6_379 };
const mostNodes = 64;

/**
 * `redis[s]://[[user]:password@]host[:port][/database]`, `redis[s]-sentinel://[…@]host[:port][,…]/master[/database]` or
 * `redis[s]-cluster://[…@]host[:port][,…]`; undefined for anything else.
 */
export function parseRedisUrl(given: RedisUrl): RedisAddress | undefined {
  const access = accessOf(given);
  const [, secure = '', sort, authority = '', path = ''] = form.exec(access.url) ?? [];
  const kind = (sort?.toLowerCase() ?? 'server') as RedisKind;
  const at = authority.lastIndexOf('@') + 1;
  const login = loginIn(authority.slice(0, at));
  const [first, ...others] = authority
    .slice(at)
    .split(',')
    .map((text) => nodeIn(text, ports[kind]));
  const place = placeIn(path, kind);
  if (login === undefined || place === undefined || first === undefined || others.includes(undefined)) return undefined;
  if (others.length >= (kind === 'server' ? 1 : mostNodes)) return undefined;
  return {
    kind,
    nodes: [first, ...others.filter((node) => node !== undefined)],
    ...place,
    isTls: secure !== '',
    ...login,
    sentinelLogin: { username: access.sentinelUsername, password: access.sentinelPassword },
    certificates: access.certificates ?? {},
  };
}

/** `parseRedisUrl`, which throws a TypeError for any other text. */
export function redisAddress(url: RedisUrl): RedisAddress {
  const address = parseRedisUrl(url);
  if (address !== undefined) return address;
  throw new TypeError(`the address of Redis must look like ${redisUrlForms}`);
}

/** The address with what stands beside it, which may be nothing. */
export function accessOf(url: RedisUrl): RedisAccess {
  return typeof url === 'string' ? { url } : url;
}

/** What the address names, for people, without credentials. */
export function placeOf({ kind, nodes, master }: RedisAddress): string {
  const hosts = nodes.map(nodeText).join(', ');
  if (kind === 'server') return hosts;
  return kind === 'cluster' ? `the cluster ${hosts}` : `the master ${master} of the sentinels ${hosts}`;
}

export function nodeText({ host, port }: RedisNode): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** `user:password@`, or nothing. */
function loginIn(text: string): RedisLogin | undefined {
  const url = URL.parse(`redis://${text}host`);
  const username = decoded(url?.username);
  const password = decoded(url?.password);
  if (username === undefined || password === undefined || (username !== '' && password === '')) return undefined;
  return { username: username || undefined, password: password || undefined };
}

function nodeIn(text: string, port: number): RedisNode | undefined {
  const url = /[\s@]/.test(text) ? null : URL.parse(`redis://${text}`);
  if (url === null || url.hostname === '') return undefined;
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: url.port === '' ? port : Number(url.port) };
}

/** A cluster has one database alone. */
function placeIn(path: string, kind: RedisKind): Pick<RedisAddress, 'master' | 'database'> | undefined {
  const forms = {
    server: /^()(?:\/([0-9]{0,4}))?$/,
    sentinel: /^\/([^/]+)(?:\/([0-9]{0,4}))?$/,
    cluster: /^()(?:\/(0?))?$/,
  };
  const [, name, database = ''] = forms[kind].exec(path) ?? [];
  const master = decoded(name);
  return master === undefined ? undefined : { master, database: Number(database) };
}

function decoded(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
