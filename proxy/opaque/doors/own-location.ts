// Where a provider's redirect leads a client: to the same provider behind the gateway, or nowhere. At another address clients would show their
// key of the gateway.
import type { OpaqueTarget } from '../door.ts';

type Redirecting = Pick<OpaqueTarget, 'path'> & {
  readonly upstream: Pick<OpaqueTarget['upstream'], 'name' | 'origin'> & {
    readonly opaque: Pick<OpaqueTarget['upstream']['opaque'], 'basePath'>;
  };
};

/** Headers, names and values in turn: a `location` at the provider is one of the gateway, any other is left out. */
export function withOwnLocation(headers: readonly string[], target: Redirecting): string[] {
  const own: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const [name = '', value = ''] = headers.slice(index, index + 2);
    const isLocation = name.toLowerCase() === 'location';
    const shown = isLocation ? ownLocation(value, target) : value;
    if (shown !== undefined) own.push(name, shown);
  }
  return own;
}

/** Undefined: it is none at the provider, below its base path. */
function ownLocation(value: string, { path, upstream }: Redirecting): string | undefined {
  const { name, origin, opaque } = upstream;
  const url = URL.parse(value, `${origin}${path}`);
  const below = `${opaque.basePath}/`;
  if (url?.origin !== origin || url.username !== '' || !url.pathname.startsWith(below)) return undefined;
  const endpoint = url.pathname.slice(below.length);
  // A version at the beginning is taken off there.
  return `/p/${name}/${endpoint.startsWith('v1/') ? 'v1/' : ''}${endpoint}${url.search}`;
}
