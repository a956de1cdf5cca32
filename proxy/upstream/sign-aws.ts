// Signs requests to AWS with Signature Version 4. The algorithm is the package's; what is signed, and when, is decided here.
import aws4 from 'aws4';
import type { AwsCredentials } from '../../domain/keys/aws-key.ts';
import { awsRegionOf } from '../../domain/keys/aws-region.ts';
import { timestamp } from '../../domain/timestamp.ts';

/** A request as it will be sent. */
export interface AwsRequest {
  readonly method: string;
  /** As the header `host` will say it: with the port, unless it is the usual one. */
  readonly host: string;
  /** From the slash on, encoded as it will be sent, with its query. */
  readonly path: string;
  /** Names and values in turn; these are signed, so no proxy on the way may change them. */
  readonly headers: readonly string[];
  /** Empty: there is none. */
  readonly body: Buffer;
  /** `us-east-1`. */
  readonly region: string;
  /** `bedrock`, for all hosts of Bedrock. */
  readonly service: string;
}

/** Signs requests to one address with one key. */
export interface AwsSigner {
  /** The headers that a request needs beside those that it has. `nowMs`: Unix milliseconds. */
  sign(request: Pick<AwsRequest, 'method' | 'path' | 'headers' | 'body'>, nowMs: number): string[];
}

/** Where a base URL names no region, as behind a proxy. */
const usualRegion = 'us-east-1';

/** The place that requests are signed for. */
export interface SignedPlace {
  /** With the port, unless it is the usual one. */
  readonly host: string;
  /** Where the host names none; absent: `us-east-1`. */
  readonly region?: string | undefined;
}

/** `aheadMs`: how far the clock of AWS is ahead of ours. */
export function awsSigner(place: SignedPlace, credentials: AwsCredentials, aheadMs: number = 0): AwsSigner {
  const { host } = place;
  const region = awsRegionOf(host) ?? place.region ?? usualRegion;
  return {
    sign: (request, nowMs) => signAws({ ...request, host, region, service: 'bedrock' }, credentials, nowMs + aheadMs),
  };
}

/** The package would add and sign these. They are written by the one who sends, so they are left out of the signature. */
const unsigned = { 'content-length': true };
const unsignedWithoutType = { ...unsigned, 'content-type': true };

/**
 * The headers that sign a request, names and values in turn, to be sent beside the ones that it has. `nowMs`: Unix milliseconds; AWS
 * refuses a signature that is older than five minutes, so every attempt is signed anew.
 */
export function signAws(request: AwsRequest, credentials: AwsCredentials, nowMs: number): string[] {
  const { method, host, path, body, region, service } = request;
  const given: Record<string, string> = Object.fromEntries(pairs(request.headers));
  const dated = { ...given, host, 'x-amz-date': compact(nowMs) };
  const { headers } = aws4.sign(
    {
      method,
      host,
      path,
      region,
      service,
      headers: dated,
      ...(body.length === 0 ? {} : { body }),
      extraHeadersToIgnore: 'content-type' in given ? unsigned : unsignedWithoutType,
    },
    credentials,
  );
  const { sessionToken } = credentials;
  const token = sessionToken === undefined ? [] : ['x-amz-security-token', sessionToken];
  return ['x-amz-date', dated['x-amz-date'], ...token, 'authorization', String(headers['Authorization'])];
}

/** `20150830T123600Z`. */
function compact(nowMs: number): string {
  return timestamp(nowMs).replace(/[:-]|\.\d{3}/g, '');
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, at): [string, string][] =>
    at % 2 === 0 ? [[name.toLowerCase(), flat[at + 1] ?? '']] : [],
  );
}
