// Credentials from AWS, by its own package: the default chain of this machine, and a role that is assumed with it. The package reads the
// environment and the files of AWS itself, and dials what these name, metadata addresses included; nothing of a request reaches it.
import { unixTime } from '../../domain/timestamp.ts';
import type { AWSIdentity } from '../../schemas/types.ts';
import { loadPackage } from './load-package.ts';
import type { IssuedCredential, TokenSource } from './token-source.ts';

/** Tags of the session of a role, by their keys. */
export type SessionTags = Readonly<Record<string, string>>;

export interface AwsSettings extends Partial<AWSIdentity> {
  /** The region that the address of the provider names; undefined: none. */
  readonly addressRegion: string | undefined;
}

type Package = typeof import('@aws-sdk/credential-providers');
type Chain = ReturnType<Package['fromNodeProviderChain']>;
type ClientPlugin = NonNullable<Parameters<Package['fromTemporaryCredentials']>[0]['clientPlugins']>[number];

const packageName = '@aws-sdk/credential-providers';
/** Shown by AWS in what it records of the session. */
const sessionName = 'model-gateway';

/** Each source asks with a chain of its own, so that nothing which the package keeps outlives its use. */
export function awsSource(settings: AwsSettings, tags: SessionTags = {}): TokenSource {
  const { role_arn: role } = settings;
  let chain: Chain | undefined;
  return {
    describe: () => (role === undefined ? `AWS ${chainName(settings)}` : `AWS role ${role}${tagNames(tags)}`),
    async fetch() {
      // Its default: a build gives a package in CommonJS no other name.
      const { default: aws } = await loadPackage(packageName, () => import('@aws-sdk/credential-providers'));
      const clock = new IssuerClock();
      const init = { clientPlugins: [clock.plugin], clientConfig: clientOf(settings) };
      const newChain = (): Chain => aws.fromNodeProviderChain({ ...init, ...profileOf(settings) });
      try {
        if (role === undefined) return issuedOf(await newChain()(), clock, undefined);
        chain ??= newChain();
        const { external_id: ExternalId } = settings;
        const params = {
          RoleArn: role,
          RoleSessionName: sessionName,
          ...(ExternalId === undefined ? {} : { ExternalId }),
          ...(Object.keys(tags).length === 0 ? {} : { Tags: tagsOf(tags) }),
        };
        const assumed = await aws.fromTemporaryCredentials({ ...init, masterCredentials: chain, params })();
        return issuedOf(assumed, clock, sessionOf(role));
      } catch (error) {
        // The credentials that it keeps may be what was refused.
        chain = undefined;
        throw new Error(sayAws(error), { cause: error });
      }
    },
  };
}

function chainName({ profile }: AwsSettings): string {
  return profile === undefined ? 'default chain' : `profile ${profile}`;
}

function tagNames(tags: SessionTags): string {
  const named = Object.entries(tags).map(([key, value]) => `${key}=${value}`);
  return named.length === 0 ? '' : ` with ${named.join(', ')}`;
}

function tagsOf(tags: SessionTags): { Key: string; Value: string }[] {
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
}

function profileOf({ profile }: AwsSettings): { profile?: string } {
  return profile === undefined ? {} : { profile };
}

/** Settings of a client of STS. Undefined region: as the environment and the files say. */
function clientOf({ region, addressRegion }: AwsSettings): { region?: string; requestHandler: object } {
  const named = region ?? addressRegion;
  const requestHandler = { connectionTimeout: 3_000, requestTimeout: 8_000 };
  return { ...(named === undefined ? {} : { region: named }), requestHandler };
}

/** `arn:aws:sts::123456789012:assumed-role/gateway/model-gateway`: as AWS names the session of a role. */
function sessionOf(role: string): string {
  const [arn, partition, , , account, path = ''] = role.split(':');
  return `${arn}:${partition}:sts::${account}:assumed-role/${path.split('/').at(-1)}/${sessionName}`;
}

function issuedOf(
  identity: Awaited<ReturnType<Chain>>,
  { nowMs }: IssuerClock,
  session: string | undefined,
): IssuedCredential {
  const { accessKeyId, secretAccessKey, sessionToken, expiration, accountId } = identity;
  const account = accountId === undefined ? undefined : `account ${accountId}`;
  return {
    credential: { kind: 'aws', credentials: { accessKeyId, secretAccessKey, sessionToken } },
    expiresAtMs: expiration?.getTime(),
    ...(nowMs === undefined ? {} : { issuerNowMs: nowMs }),
    principal: session ?? account,
  };
}

/** What STS says of the time, in the header `date` of its answers. */
class IssuerClock {
  /** Of the last answer. Unix milliseconds; undefined: none said it. */
  nowMs: number | undefined;
  readonly plugin: ClientPlugin = {
    applyToStack: (stack: Parameters<ClientPlugin['applyToStack']>[0]) => {
      const read = (next: (given: never) => Promise<{ response: unknown }>) => async (given: never) => {
        const answered = await next(given);
        const { headers } = answered.response as { headers?: Record<string, string> };
        const said = unixTime(headers?.['date'] ?? '');
        // Whole seconds, rounded down: at the latest it was then the end of that second.
        if (said !== undefined) this.nowMs = said + 999;
        return answered;
      };
      stack.add(read as never, { step: 'deserialize', name: 'clockOfIssuer', override: true });
    },
  };
}

/** Errors of AWS name the user, the role and the action. Others may quote what was answered, so only their kind is told. */
function sayAws(error: unknown): string {
  if (!(error instanceof Error)) return 'AWS gave no credential';
  const { name, message } = error;
  const isOfAws = !(error instanceof SyntaxError) && ('$metadata' in error || name === 'CredentialsProviderError');
  const { code } = error as { code?: unknown };
  if (!isOfAws)
    return typeof code === 'string' ? `AWS gave no credential (${code})` : `AWS gave no credential (${name})`;
  const kind = name === 'Error' ? '' : `${name}: `;
  // Where the answer has no error that the package knows.
  const { $metadata: said } = error as { $metadata?: { httpStatusCode?: number } };
  if (name === 'Unknown') return `AWS gave no credential: HTTP ${said?.httpStatusCode}`;
  return `AWS gave no credential: ${kind}${message.replaceAll(/\s+/g, ' ').slice(0, mostWords)}`;
}

/** Of a message of AWS. Characters. */
const mostWords = 300;
