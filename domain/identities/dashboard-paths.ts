// The user paths for which claims can give somebody access to the dashboard.
import type { Identity as WrittenIdentity } from '../../schemas/types.ts';
import { foldUserPath } from '../user-path.ts';
import { readPathTemplate, type Template } from './template.ts';

/** Gives whether somebody can have access for exactly this folded path. A template with claims stands for every path that they can make. */
export function dashboardPaths(
  identities: Readonly<Record<string, Pick<WrittenIdentity, 'user_path' | 'rights'>>>,
): (folded: string) => boolean {
  const texts = Object.values(identities).flatMap(({ user_path: path, rights }) => {
    const given = rights.flatMap(({ dashboard }) => dashboard ?? []);
    // Without a path of its own, it is the user path of the caller.
    const own = [path, ...rights.map((right) => right.user_path)];
    return given.flatMap(({ user_path }) => (user_path === undefined ? own : [user_path])).filter(isText);
  });
  const patterns = [...new Set(texts)].flatMap((text) => {
    const { made } = { made: undefined, ...readPathTemplate(text) };
    return made === undefined ? [] : [patternOf(made)];
  });
  return (folded) => patterns.some((pattern) => pattern.test(folded));
}

function patternOf({ parts }: Template): RegExp {
  const texts = parts.map((part) => {
    if (typeof part === 'string') return foldUserPath(part).replace(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
    return part.isPath ? '.+' : '[^/]+';
  });
  return new RegExp(`^${texts.join('')}$`);
}

function isText(text: string | undefined): text is string {
  return text !== undefined;
}
