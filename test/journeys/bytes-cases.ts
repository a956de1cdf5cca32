// The bodies, streams and headers of bytes.test.ts: everything that the formats allow, and answers that tell a key.
import { firstEvent, lastEvent } from '../support/chat-call.ts';
import { type Behaviour, type Field, pause, type Step } from '../support/fake-upstream.ts';
import { masterKey, providerKey } from '../support/gateway.ts';

/** 1 MiB of JSON in an unusual form; the model's value is left out between the two parts. */
export function strangeBody(): [before: string, after: string] {
  const nested = '{"a":[{"b" :{"c":[[[1e2,-0,0.10,1E+2]]]}}],"\\u0061":null}';
  const before = [
    ' \r\n\t{ "future_member" :\t{"deep":[[],{},[{"":{"model":"not-this-one"}}]],"x":{"stream":true}},',
    '"big_integer":12345678901234567890,"fraction":1.0000000000000000000001,',
    '"messages":[{"role":"user","content":"\\u0048\\u00e9llo \\ud83d\\ude00 \\/ \\" \u2028 é 😀 \u007f"}],',
    '"mod\\u0065l"\n:\r\n ',
  ].join('');
  const after = ` \t,"seed" : -0 ,"stream":false,"n":  1,"extra":[\t${nested}`;
  const end = ' ] }\r\n \n';
  const filler = ` ,${nested}`;
  const room = 2 ** 20 - Buffer.byteLength(before + after + end) - 64;
  return [
    before,
    after + filler.repeat(Math.floor(room / filler.length)).concat(' '.repeat(room % filler.length)) + end,
  ];
}

/** Events that report usage and nothing else, as different providers write them. */
export const usageEvent = [
  'data: {"id":"x","choices": [],\r\ndata: "usage": {"prompt_tokens":1,"total_tokens":3}}\r\n\r\n',
  'data: {"id":"x","choices": [ ], "usage": {"prompt_tokens":1,"total_tokens":3}}\n\n',
  'data: {"id":"x","choices":null,"usage":{"prompt_tokens":1,"total_tokens":3}}\r\r',
  'data: {"id":"x","usage":{"prompt_tokens":1,"total_tokens":3}}\n\n',
].join('');
/** An event stream with everything the format allows; the usage events stand between two others. */
export const streamParts: [before: string, after: string] = [
  [
    ': a comment first\n\n',
    'data: {"choices":[{"index":0,"delta":{"role":"assistant"}}],"usage":null}\n\n',
    'event: message\r\nid: 7\r\nretry: 10\r\ndata:{"choices":[{"index":0,"delta":{"content":"\\"usage\\":{"}}]}\r\n\r\n',
    'data: {"choices":[{"index":0,\ndata: "delta":{"content":"é 😀 — of several lines"}}]}\n\n',
    ':keep-alive\r\n\r\n\n\r\n',
    'data: {"choices":[{"index":0,"delta":{"content":" with usage"}}],"usage":{"total_tokens":2}}\n\n',
    'data: not JSON "usage":{ at all\n\n',
    'data: {"choices":[],"prompt_filter_results":[{"prompt_index":0}]}\n\n',
    'event: message\rdata: {"choices":[{"index":0,"delta":{"content":"an error"}}]}\r\r',
    `data: {"choices":[{"index":0,"delta":{"content":"${'long '.repeat(400)}"}}]}\n\n`,
  ].join(''),
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\r\n\r\ndata: [DONE]\n\n: an afterthought\n',
];

/** The head of a call with everything a client may send, in lines. */
export const clientHead = (length: number): string[] => [
  `POST /v1/chat/completions?api_key=in-the-query HTTP/1.1`,
  'Host: gateway.test',
  `Authorization: Bearer ${masterKey}`,
  `X-Api-Key: ${masterKey}`,
  'Content-Type: application/json;charset=utf-8',
  `Content-Length: ${length}`,
  'Connection: keep-alive, X-Hop',
  'X-Hop: 1',
  'Keep-Alive: timeout=5',
  'Proxy-Authorization: Basic Y2xpZW50OmNhbmFyeQ==',
  'Proxy-Connection: keep-alive',
  'TE: trailers',
  'Trailer: X-Late',
  'Cookie: session=client-canary',
  'OpenAI-Organization: org-of-the-client',
  'X-Gateway-User-Path: /team/app',
  'X-Forwarded-For: 10.0.0.1',
  'Accept-Encoding: gzip, br',
  'User-Agent: client/1',
  'X-Request-Id: the-client.s_own',
];

/** The headers of an answer that a client may see. */
export const allowedHeaders = new Set([
  'cache-control',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'openai-processing-ms',
  'transfer-encoding',
  'x-accel-buffering',
  'x-content-type-options',
  'x-request-id',
  'x-upstream-request-id',
]);

/** Headers that a provider sends for itself, or for the connection. */
export const foreignHeaders: Field[] = [
  ['x-request-id', 'req_of_upstream'],
  ['set-cookie', '__cf_bm=account-canary'],
  ['openai-project', 'proj-account-canary'],
  ['openai-processing-ms', '17'],
  ['x-ratelimit-remaining-requests', '9999'],
  ['x-ratelimit-reset-tokens', '6m0s'],
  ['keep-alive', 'timeout=7777'],
  ['proxy-authenticate', 'Basic'],
  ['upgrade', 'h2c'],
  ['trailer', 'x-late'],
  ['server', 'cloudflare'],
  ['access-control-allow-origin', '*'],
  ['strict-transport-security', 'max-age=1'],
  ['location', 'http://127.0.0.1:9/'],
];

const shown = `Incorrect API key provided: ${providerKey}. Or was it "Bearer ${providerKey}" or sk-proj-abc***wxyz?`;
const error = (code: unknown) => ({ error: { message: shown, type: 'x', param: null, code } });
const event = `data: ${JSON.stringify(error(401))}\n\n`;
const middle = event.indexOf(providerKey) + 9;
const halves: Step[] = [event.slice(0, middle), pause(5), event.slice(middle)];
/** Answers that contain the key of the provider. */
export const tellingAnswers: readonly Behaviour[] = [
  { kind: 'error', status: 401, message: shown },
  { kind: 'error', status: 500, message: shown },
  { kind: 'json', status: 403, body: shown },
  { kind: 'json', status: 400, body: { error: shown } },
  { kind: 'json', status: 400, body: error(providerKey) },
  { kind: 'json', status: 400, body: { error: { ...error(null).error, param: providerKey } } },
  { kind: 'json', body: error(401) },
  { kind: 'sse', chunks: [`data: ${JSON.stringify(error(401))}\n\n`] },
  { kind: 'sse', chunks: [firstEvent, ...halves, lastEvent] },
  { kind: 'sse', chunks: [firstEvent, `event: error\rdata: ${shown}\r\r`, lastEvent] },
  { kind: 'redirect', location: `http://127.0.0.1:9/?key=${providerKey}` },
  {
    kind: 'raw',
    steps: [`HTTP/1.1 200 ${providerKey}\r\nContent-Type: ${providerKey}\r\nContent-Length: 2\r\n\r\n{}`],
  },
  { kind: 'raw', steps: [`HTTP/1.1 400 ${providerKey}\r\nRetry-After: ${providerKey}\r\nContent-Length: 0\r\n\r\n`] },
  { kind: 'raw', steps: [`${providerKey}\r\n\r\n`] },
];
