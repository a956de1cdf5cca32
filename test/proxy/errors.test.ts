// The error table of the data plane and the envelope: every entry keeps the spec's shape, whatever it is filled with.
import { test } from 'tap';
import { errors } from '../../proxy/error-table.ts';
import { asRefusal, type ErrorCode, Refusal, refusal, upstreamRefusal } from '../../proxy/errors.ts';
import { envelope } from '../../proxy/http/error-envelope.ts';

const codes = Object.keys(errors) as ErrorCode[];
const placeholders = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);

interface Envelope {
  error: { code: string | null; message: string; param: string | null; type: string; provider?: string };
}

const rendered = (refused: Refusal): Envelope['error'] => (JSON.parse(envelope(refused)) as Envelope).error;

await test('every entry renders the envelope with its four members and nothing else', async (t) => {
  const types: Record<number, string> = {
    401: 'authentication_error',
    403: 'permission_error',
    404: 'not_found_error',
    429: 'rate_limit_error',
  };
  for (const code of codes) {
    const fill = Object.fromEntries(placeholders(errors[code].message).map((name) => [name, `<${name}>`]));
    const refused = refusal(code, { fill });
    const error = rendered(refused);
    t.same(Object.keys(error).sort(), ['code', 'message', 'param', 'type'], code);
    t.match(error, { code, param: null, message: /^[A-Z"].*\.$/ }, code);
    const { status } = refused;
    t.equal(
      error.type,
      types[status] ?? (status < 500 ? 'invalid_request_error' : 'provider_error'),
      `${code} ${status}`,
    );
    t.ok(status >= 400 && status < 600, code);
    for (const value of Object.values(fill)) t.ok(error.message.includes(value), `${code} shows ${value}`);
  }
});

await test('an entry without its details shows neither braces nor undefined', async (t) => {
  for (const code of codes) t.notMatch(refusal(code).message, /[{}]|undefined/, code);
});

await test('what fills a placeholder cannot forge a line, hide text or grow without end', async (t) => {
  const shown = (model: string): string => refusal('model_not_found', { fill: { model } }).message;
  t.match(shown('a\r\nb\tc\u0000d'), '"a??b?c?d"');
  t.match(shown('a\u202Eb\u200Bc\u2028d\uFEFFe\u0085f\ud800g'), '"a?b?c?d?e?f?g"');
  t.match(shown('é 😀 {path} {x}'), '"é 😀 {path} {x}"', 'text stays text and is not filled again');
  t.match(shown('m'.repeat(201)), `"${'m'.repeat(200)}…"`);
  t.match(shown('m'.repeat(200)), `"${'m'.repeat(200)}"`);
  t.match(shown('$& $1 $`'), '"$& $1 $`"');
});

await test('the provider stands in the envelope only when it is to blame', async (t) => {
  t.notOk('provider' in rendered(refusal('invalid_json')));
  t.equal(rendered(refusal('upstream_timeout', { provider: 'openai' })).provider, 'openai');
  const said = upstreamRefusal(
    418,
    'invalid_request_error',
    { message: 'no', code: null, param: 'n' },
    { provider: 'p' },
  );
  t.strictSame(rendered(said), { code: null, message: 'no', param: 'n', type: 'invalid_request_error', provider: 'p' });
  t.equal(said.status, 418);
});

await test('headers of a refusal travel beside the envelope', async (t) => {
  t.same(refusal('method_not_allowed', { headers: { allow: 'POST' } }).headers, { allow: 'POST' });
  t.same(refusal('method_not_allowed').headers, {});
});

await test('a surprise says nothing but the request id', async (t) => {
  for (const thrown of [new Error('password is hunter2'), 'text', undefined, { code: 'EACCES' }]) {
    const refused = asRefusal(thrown, 'req_1');
    t.match(refused, { status: 500, code: 'internal_error', type: 'provider_error' });
    t.match(rendered(refused).message, 'req_1');
    t.notMatch(envelope(refused), /hunter2|EACCES|stack|\.ts/);
    t.notOk('provider' in rendered(refused));
  }
  const refused = refusal('invalid_json');
  t.equal(asRefusal(refused, 'req_1'), refused);
  t.ok(refused instanceof Refusal && refused instanceof Error);
});
