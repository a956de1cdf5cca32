// Requests to AWS are signed as AWS's own examples are, and no message tells a secret.
import { createHash, createHmac } from 'node:crypto';
import { test } from 'tap';
import { parseAwsKey } from '../../domain/keys/aws-key.ts';
import { awsRegionOf } from '../../domain/keys/aws-region.ts';
import { type AwsRequest, signAws } from '../../proxy/upstream/sign-aws.ts';

/** Of AWS's test suite for Signature Version 4. */
const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const moment = Date.UTC(2015, 7, 30, 12, 36);
const vanilla: AwsRequest = {
  method: 'GET',
  host: 'example.amazonaws.com',
  path: '/',
  headers: [],
  body: Buffer.alloc(0),
  region: 'us-east-1',
  service: 'service',
};
const token =
  'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==';
const formHeaders = ['Content-Type', 'application/x-www-form-urlencoded'];

await test('the examples of the test suite of AWS', async (t) => {
  const sign = (change: Partial<AwsRequest>, sessionToken?: string): string[] =>
    signAws({ ...vanilla, ...change }, { ...credentials, sessionToken }, moment);
  const signed = (names: string, signature: string): string =>
    `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${names}, Signature=${signature}`;
  const cases: [string, string[], string][] = [
    [
      'get-vanilla',
      sign({}),
      signed('host;x-amz-date', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'),
    ],
    [
      'get-vanilla-query-order-key-case',
      sign({ path: '/?Param2=value2&Param1=value1' }),
      signed('host;x-amz-date', 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500'),
    ],
    [
      'post-vanilla',
      sign({ method: 'POST' }),
      signed('host;x-amz-date', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'),
    ],
    [
      'post-x-www-form-urlencoded',
      sign({ method: 'POST', headers: formHeaders, body: Buffer.from('Param1=value1') }),
      signed('content-type;host;x-amz-date', 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a'),
    ],
    [
      'post-sts-header-before',
      sign({ method: 'POST' }, token),
      signed(
        'host;x-amz-date;x-amz-security-token',
        '85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead',
      ),
    ],
  ];
  for (const [name, headers, expected] of cases) {
    t.equal(headers.at(-1), expected, name);
    t.same(headers.slice(0, 2), ['x-amz-date', '20150830T123600Z'], name);
  }
  t.same(cases.at(-1)?.[1].slice(2, 4), ['x-amz-security-token', token], 'a session token is sent');
  t.notMatch(JSON.stringify(cases), /content-length/i, 'the length is left to the one who sends');
});

await test('a path is signed as it is sent, encoded once more: colons and slashes in the ids of models', async (t) => {
  const models = [
    'anthropic.claude-3-5-sonnet-20241022-v2:0',
    'arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-20250514-v1:0',
  ];
  const body = Buffer.from('{"messages":[]}');
  for (const model of models) {
    const path = `/model/${encodeURIComponent(model)}/converse`;
    const host = 'bedrock-runtime.eu-west-1.amazonaws.com';
    const headers = signAws(
      { ...vanilla, method: 'POST', host, path, body, region: 'eu-west-1', service: 'bedrock' },
      credentials,
      moment,
    );
    // The same by the description of AWS, without the package.
    const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');
    const canonical = [
      'POST',
      path.replaceAll('%', '%25'),
      '',
      `host:${host}`,
      'x-amz-date:20150830T123600Z',
      '',
      'host;x-amz-date',
      sha256(body),
    ].join('\n');
    const scope = '20150830/eu-west-1/bedrock/aws4_request';
    const toSign = ['AWS4-HMAC-SHA256', '20150830T123600Z', scope, sha256(canonical)].join('\n');
    const key = scope
      .split('/')
      .reduce(
        (former, part) => createHmac('sha256', former).update(part).digest(),
        Buffer.from(`AWS4${credentials.secretAccessKey}`),
      );
    t.match(headers.at(-1), `Signature=${createHmac('sha256', key).update(toSign).digest('hex')}`, model);
  }
});

await test('a key is credentials, or a Bedrock API key', async (t) => {
  const id = 'AKIAIOSFODNN7EXAMPLE';
  const secret = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
  t.same(parseAwsKey(`${id}:${secret}`), {
    kind: 'credentials',
    credentials: { accessKeyId: id, secretAccessKey: secret, sessionToken: undefined },
  });
  t.same(parseAwsKey(`ASIAIOSFODNN7EXAMPLE:${secret}:${token}`), {
    kind: 'credentials',
    credentials: { accessKeyId: 'ASIAIOSFODNN7EXAMPLE', secretAccessKey: secret, sessionToken: token },
  });
  t.same(parseAwsKey('ABSKQmVkcm9ja0=='), { kind: 'bearer', key: 'ABSKQmVkcm9ja0==' });
  const wrong: [string, RegExp][] = [
    ['', /is empty/],
    [`${id}:${secret} `, /has a space/],
    [`${id}:`, /nothing behind the access key id/],
    [`:${secret}`, /access key id/],
    [`${id}:${secret}:`, /session token of the AWS key is empty/],
    [`${id}:${secret}:a:b`, /more than three parts/],
    [`ASIAIOSFODNN7EXAMPLE:${secret}`, /has no session token/],
    [`https://${secret}`, /access key id/],
  ];
  for (const [text, problem] of wrong) {
    const said = JSON.stringify(parseAwsKey(text));
    t.match(said, problem);
    t.notMatch(said, secret, 'no part of the key is told');
    t.notMatch(said, 'IOSFODNN7');
  }
});

await test('a host of Bedrock names its region', async (t) => {
  t.equal(awsRegionOf('bedrock-runtime.us-east-1.amazonaws.com'), 'us-east-1');
  t.equal(awsRegionOf('bedrock-runtime-fips.us-gov-west-1.amazonaws.com:443'), 'us-gov-west-1');
  t.equal(awsRegionOf('vpce-0a-1.bedrock-runtime.ap-southeast-2.vpce.amazonaws.com'), 'ap-southeast-2');
  t.equal(awsRegionOf('bedrock.internal.example.com'), undefined);
});
