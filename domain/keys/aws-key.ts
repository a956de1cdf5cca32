// The key of an AWS provider: credentials that sign each request, or a Bedrock API key that is sent as it is.

/** The credentials that sign requests to AWS. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary credentials. */
  readonly sessionToken?: string | undefined;
}

export type AwsKey =
  | { readonly kind: 'credentials'; readonly credentials: AwsCredentials }
  /** Sent as `Authorization: Bearer`. */
  | { readonly kind: 'bearer'; readonly key: string };

/** AWS: 16 to 128 letters, digits and underscores. */
const accessKeyId = /^\w{16,128}$/;
const temporary = /^ASIA/;
/** The characters of a header value, without spaces. */
const visible = /^[\x21-\x7e]+$/;
const form =
  'It must be ACCESS_KEY_ID:SECRET_ACCESS_KEY, ACCESS_KEY_ID:SECRET_ACCESS_KEY:SESSION_TOKEN or a Bedrock API key.';

/**
 * Reads the `api_key` of a provider on AWS: `ACCESS_KEY_ID:SECRET_ACCESS_KEY`, with `:SESSION_TOKEN` behind it when the
 * credentials are temporary, or a Bedrock API key, which has no colon. `{problem}`: a sentence without any part of the key.
 */
export function parseAwsKey(text: string): AwsKey | { readonly problem: string } {
  if (!visible.test(text))
    return { problem: `The AWS key is empty, or has a space or another sign that no key has. ${form}` };
  const [id = '', secretAccessKey, sessionToken, ...more] = text.split(':');
  if (secretAccessKey === undefined) return { kind: 'bearer', key: text };
  if (more.length > 0) return { problem: `The AWS key has more than three parts. ${form}` };
  if (!accessKeyId.test(id)) return { problem: `The access key id of the AWS key is not one. ${form}` };
  if (secretAccessKey === '') return { problem: `The AWS key has nothing behind the access key id. ${form}` };
  if (sessionToken === '') return { problem: `The session token of the AWS key is empty. ${form}` };
  if (sessionToken === undefined && temporary.test(id)) {
    return { problem: `The AWS key is a temporary one and has no session token. ${form}` };
  }
  return { kind: 'credentials', credentials: { accessKeyId: id, secretAccessKey, sessionToken } };
}
