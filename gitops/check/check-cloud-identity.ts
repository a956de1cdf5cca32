// Checks of `auth` of a provider and its settings, which the schema cannot express.
import type { Provider } from '../../schemas/types.ts';
import { type Path, quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';

/** The types of providers that know the identities of a cloud. Each cloud has a section of settings with its own name. */
const typesOf = { aws: ['bedrock'] } as const satisfies Record<string, readonly Provider['type'][]>;
type Cloud = keyof typeof typesOf;
const clouds = Object.keys(typesOf) as Cloud[];

export function checkCloudIdentity(name: string, provider: Provider, sources: Sources): Problem[] {
  const path = ['providers', name];
  const { auth, type, aws } = provider;
  const problems: Problem[] = [];
  const add = (at: Path, message: string, part?: 'key'): void => {
    problems.push(sources.problem([...path, ...at], message, part));
  };
  for (const cloud of clouds) {
    const types: readonly string[] = typesOf[cloud];
    if (provider[cloud] !== undefined && auth !== cloud) add([cloud], `does nothing without auth: ${cloud}`, 'key');
    if (auth === cloud && !types.includes(type))
      add(['auth'], `${cloud} is for providers of the type ${types.map(quote).join(' or ')}, found ${quote(type)}`);
  }
  if (aws?.session_tags_from !== undefined && aws.role_arn === undefined)
    add(['aws', 'session_tags_from'], 'needs role_arn beside it, because tags belong to the session of a role', 'key');
  return problems;
}
