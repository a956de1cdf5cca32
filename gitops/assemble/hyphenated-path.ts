// Names of variables have no hyphens: SET_RATE_LIMIT_TEAM_B is /team_b, also where an operator meant /team-b.

/** The advice of the message. */
export const hyphenAdvice =
  'an underscore in the name of a variable stays an underscore; limit paths with hyphens in the YAML files';

/**
 * The path at or above `path` that differs from `subject`, the path of a variable, by hyphens in place of underscores (letter case does
 * not matter here); undefined when there is none.
 */
export function hyphenatedPath(subject: string, path: string): string | undefined {
  if (!subject.includes('_') || !path.includes('-')) return undefined;
  const head = path.split('/', subject.split('/').length).join('/');
  return head.includes('-') && head.toLowerCase().replaceAll('-', '_') === subject ? head : undefined;
}
