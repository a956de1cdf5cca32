// Checks of `auth` of a provider and its settings, which the schema cannot express.
import type { Provider } from '../../schemas/types.ts';
import { type Path, quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';

/** The types of providers that know the identities of a cloud. Each cloud has a section of settings with its own name. */
const typesOf = {
  aws: ['bedrock'],
  google: ['vertex', 'gemini'],
  azure: ['azure'],
} as const satisfies Record<string, readonly Provider['type'][]>;
/** The header of `google.quota_project`. */
const quotaHeader = 'x-goog-user-project';
type Cloud = keyof typeof typesOf;
const clouds = Object.keys(typesOf) as Cloud[];

export function checkCloudIdentity(name: string, provider: Provider, sources: Sources): Problem[] {
  const path = ['providers', name];
  const { auth, type, aws, google, base_url, headers } = provider;
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
  if (auth === 'google' && type === 'vertex' && URL.parse(base_url)?.pathname.includes('/projects/') === false)
    add(
      ['auth'],
      'needs a base_url that names a project, as in /projects/my-project/locations/us-central1; without one only API keys are accepted',
    );
  const named = Object.keys(headers).find((header) => header.toLowerCase() === quotaHeader);
  if (google?.quota_project !== undefined && named !== undefined)
    add(
      ['google', 'quota_project'],
      `is sent as the header that headers.${named} sets; a provider has one of the two`,
      'key',
    );
  return problems;
}
