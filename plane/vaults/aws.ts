// AWS Secrets Manager: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
import { ask } from './ask.ts';
import type { CloudAccess } from './cloud-access.ts';
import { type ReadSecret, VaultTrouble } from './read-secret.ts';
import type { AwsSettings } from './settings.ts';

/** Errors that another credential may mend. */
const ofCredential =
  /^(ExpiredToken|ExpiredTokenException|InvalidClientTokenId|InvalidSignatureException|UnrecognizedClient|UnrecognizedClientException)$/;
const target = 'secretsmanager.GetSecretValue';

export function awsVault(settings: AwsSettings, access: CloudAccess): ReadSecret {
  return async (name, signal) => {
    // arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME
    const region = name.startsWith('arn:') ? (name.split(':')[3] ?? '') : settings.region;
    if (region === '') throw new VaultTrouble('cannot be read: AWS_REGION is not set');
    const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
    const url = new URL(settings.endpoint === '' ? `https://secretsmanager.${region}.${domain}` : settings.endpoint);
    const body = JSON.stringify({ SecretId: name });
    const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': target };
    const { host, pathname: path } = url;
    const request = { host, path, region, headers: Object.entries(headers).flat(), body: Buffer.from(body) } as const;
    const signature = await access.signAws({ ...request, method: 'POST', service: 'secretsmanager' }, signal);
    const signed = { ...headers, ...Object.fromEntries(pairsOf(signature)) };
    const { status, body: answer } = await ask('AWS', { url: url.href, headers: signed, body, signal });
    if (status !== 200) throw troubleOf(status, answer['__type'], access);
    const { SecretString: text, SecretBinary: bytes } = answer;
    if (typeof text === 'string') return text;
    if (typeof bytes === 'string') return Buffer.from(bytes, 'base64').toString('utf8');
    throw new VaultTrouble('cannot be read: AWS gives no value');
  };
}

/** `type`: `com.amazonaws.secretsmanager#ResourceNotFoundException`, or without what stands before the #. */
function troubleOf(status: number, type: unknown, access: CloudAccess): VaultTrouble {
  const kind = typeof type === 'string' ? (/([A-Za-z]{1,64})$/.exec(type)?.[1] ?? '') : '';
  if (kind === 'ResourceNotFoundException') return new VaultTrouble('is not in Secrets Manager');
  if (ofCredential.test(kind)) access.refused('aws');
  const hint = kind.startsWith('AccessDenied') ? ': its identity needs secretsmanager:GetSecretValue' : '';
  return new VaultTrouble(`cannot be read: AWS answers ${status}${kind === '' ? '' : ` ${kind}`}${hint}`);
}

function pairsOf(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, at): [string, string][] => (at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : []));
}
