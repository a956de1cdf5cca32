// The place of a claim within a token, as templates and conditions name it: `email`, `groups[0]`, `realm_access.roles`, `["https://example.com/x"]`.

/** The payload of a token. */
export type Claims = Readonly<Record<string, unknown>>;

/** Names of members, and places in lists. */
export type ClaimPath = readonly (string | number)[];

/** A first name, or one in brackets, and then members of what it holds. Without anchors: templates look for it within braces. */
export const claimPathPattern: string = String.raw`(?:[A-Za-z_][\w:-]*|\["[^"]*"\]|\['[^']*'\])(?:\.[A-Za-z_][\w:-]*|\[(?:\d{1,4}|"[^"]*"|'[^']*')\])*`;

const step = /\.?([A-Za-z_][\w:-]*)|\[(\d+)\]|\["([^"]*)"\]|\['([^']*)'\]/g;

/** The path of a text that `claimPathPattern` matches as a whole. */
export function readClaimPath(text: string): ClaimPath {
  return [...text.matchAll(step)].map(([, name, place, inDouble, inSingle]) =>
    place === undefined ? (name ?? inDouble ?? inSingle ?? '') : Number(place),
  );
}

/** `groups[0]`: the path as a person reads it. */
export function showClaimPath(path: ClaimPath): string {
  return path
    .map((each, index) => {
      if (typeof each === 'number') return `[${each}]`;
      if (!/^[A-Za-z_][\w:-]*$/.test(each)) return `[${JSON.stringify(each)}]`;
      return index === 0 ? each : `.${each}`;
    })
    .join('');
}

/** The value at a path; undefined: the token does not have it. Only members of the token itself count. */
export function claimAt(claims: Claims, path: ClaimPath): unknown {
  let value: unknown = claims;
  for (const each of path) {
    if (typeof each === 'number' ? !Array.isArray(value) : !isTree(value) || !Object.hasOwn(value, each))
      return undefined;
    value = (value as Readonly<Record<string | number, unknown>>)[each];
  }
  return value === null ? undefined : value;
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
