// Which source a provider has, by `auth`.
import { awsRegionOf } from '../../domain/keys/aws-region.ts';
import type { AzureIdentity, Provider } from '../../schemas/types.ts';
import { type AwsSettings, awsSource } from './aws.ts';
import { azureSource } from './azure.ts';
import { googleSource } from './google.ts';
import type { IdentityPlan } from './identity.ts';
import type { SourceParts } from './token-source.ts';

/** Undefined: the provider has a key, or none. Loads and asks nothing. */
export function planOf({ auth, aws, google, azure, base_url }: Provider, parts: SourceParts): IdentityPlan | undefined {
  if (auth === 'aws') return awsPlan({ ...aws, addressRegion: awsRegionOf(new URL(base_url).host) });
  if (auth === 'google') return { source: googleSource({ ...google }, parts) };
  if (auth === 'azure') return { source: azureSource({ ...usualAzure, ...azure }, parts) };
  return undefined;
}

/** Where the section is absent as a whole. */
const usualAzure: AzureIdentity = { scope: 'https://cognitiveservices.azure.com/.default' };

function awsPlan(settings: AwsSettings): IdentityPlan {
  const { session_tags_from: keys, max_sessions: most = 100 } = settings;
  const source = awsSource(settings);
  if (keys === undefined) return { source };
  return { source, tagged: { keys, most, sourceOf: (tags) => awsSource(settings, tags) } };
}
