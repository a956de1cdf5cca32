// An error has the type that the client's own API has for it: Anthropic's SDKs and agents decide by theirs, all others by the envelope's.
import { test } from 'tap';
import { MessagesWriter } from '../../proxy/dialects/messages/write-events.ts';
import { statusSaid } from '../../proxy/dialects/said-status.ts';
import { errors } from '../../proxy/error-table.ts';
import { type ErrorCode, type Refusal, refusal, upstreamRefusal } from '../../proxy/errors.ts';
import { errorBody, errorEvent } from '../../proxy/http/error-format.ts';
import { answerContext } from './dialects/responses/answer-context.ts';

const anthropicTypes = new Set(
  'invalid_request_error authentication_error billing_error permission_error not_found_error request_too_large rate_limit_error timeout_error api_error overloaded_error'.split(
    ' ',
  ),
);

function asked(url: string, headers: Record<string, string> = {}) {
  return { request: { url, headers }, id: 'r1' };
}

function said(status: number, further: Record<string, unknown> = {}): Refusal {
  const type = status < 500 ? 'invalid_request_error' : 'provider_error';
  return upstreamRefusal(
    status,
    type,
    { message: 'No.', code: null, param: null },
    { provider: 'p', headers: {}, further },
  );
}

function typeIn(text: string): string {
  return (JSON.parse(text.slice(text.indexOf('{'))) as { error: { type: string } }).error.type;
}

await test('every error of the gateway has a type of Anthropic for its clients, whole and in a stream', async (t) => {
  for (const code of Object.keys(errors) as ErrorCode[]) {
    const refused = refusal(code);
    t.ok(anthropicTypes.has(typeIn(errorBody(refused, asked('/v1/messages')))), code);
    t.ok(anthropicTypes.has(typeIn(errorEvent(refused, asked('/v1/messages/count_tokens')))), code);
    t.equal(typeIn(errorBody(refused, asked('/v1/chat/completions'))), refused.type, code);
    t.equal(typeIn(errorEvent(refused, asked('/v1/responses'))), refused.type, code);
  }
});

await test('the status of an error decides the type that clients of Anthropic read', async (t) => {
  const types: [status: number, type: string][] = [
    [400, 'invalid_request_error'],
    [402, 'billing_error'],
    [403, 'permission_error'],
    [404, 'not_found_error'],
    [413, 'request_too_large'],
    [418, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [500, 'api_error'],
    [502, 'api_error'],
    [503, 'overloaded_error'],
    [504, 'timeout_error'],
    [529, 'overloaded_error'],
  ];
  for (const [status, type] of types) {
    const body = errorBody(said(status), asked('/v1/models', { 'anthropic-version': '2023-06-01' }));
    t.equal(typeIn(body), type, `${status}`);
  }
});

await test('a type of Anthropic that a provider said stays, and is not said twice', async (t) => {
  const told = (provider_type: string): unknown => {
    const body = errorBody(said(500, { provider_type }), asked('/v1/messages'));
    return (JSON.parse(body) as { error: unknown }).error;
  };
  const rest = { code: null, message: 'No.', param: null, provider: 'p' };
  t.strictSame(told('overloaded_error'), { ...rest, type: 'overloaded_error' });
  t.strictSame(told('server_error'), { ...rest, type: 'api_error', provider_type: 'server_error' });
});

await test('a failure in a translated stream has the type that its words or its status stand for', async (t) => {
  const typeOf = (code: string | null, type: string | null, status?: number): unknown =>
    typeIn(
      new MessagesWriter(answerContext({ input: 'Hi' }))
        .write({ kind: 'failed', failure: { message: 'No.', code, type, status } })
        .join(''),
    );
  t.equal(typeOf(null, 'overloaded_error'), 'overloaded_error');
  t.equal(typeOf('rate_limit_exceeded', null), 'rate_limit_error');
  t.equal(typeOf('429', 'provider_error'), 'rate_limit_error');
  t.equal(typeOf('stream_incomplete', 'provider_error', 502), 'api_error');
  t.equal(typeOf(null, 'provider_error', 504), 'timeout_error');
  t.equal(typeOf('x', 'y'), 'api_error');
});

await test('words of every provider stand for the status that an answer would have had', async (t) => {
  const words: [error: object, status: number | undefined][] = [
    [{ code: 429 }, 429],
    [{ code: '503', type: 'rate_limit_error' }, 503],
    [{ code: 'context_length_exceeded', type: 'server_error' }, 400],
    [{ type: 'overloaded_error' }, 529],
    [{ type: 'ThrottlingException' }, 429],
    [{ code: 'insufficient_quota' }, 429],
    [{ status: 'RESOURCE_EXHAUSTED' }, 429],
    [{ status: 'UNAVAILABLE', code: 7 }, 503],
    [{ code: 'strange', type: 'api_error' }, 500],
    [{ code: 200 }, undefined],
    [{ code: 'strange', type: null }, undefined],
  ];
  for (const [error, status] of words) t.equal(statusSaid(error), status, JSON.stringify(error));
});
