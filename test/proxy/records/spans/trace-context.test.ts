// Which traces of clients are continued, and what providers are told of them (W3C Trace Context).
import { test } from 'tap';
import { type RequestTrace, readTraceContext, writeTraceContext } from '../../../../proxy/call/trace-context.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const parent = `00-${traceId}-${spanId}-01`;

await test('a parent is read strictly: what is not valid is none', (t) => {
  t.strictSame(readTraceContext(['Host', 'a', 'Traceparent', parent]), {
    traceId,
    spanId,
    isSampled: true,
    isRandom: false,
    state: undefined,
  });
  t.match(readTraceContext(['traceparent', `00-${traceId}-${spanId}-02`]), { isSampled: false, isRandom: true });
  t.match(readTraceContext(['traceparent', `cc-${traceId}-${spanId}-01-more`]), { traceId }, 'of a later version');
  for (const bad of [
    '',
    parent.toUpperCase(),
    ` ${parent}`,
    `${parent}-more`,
    `${parent}0`,
    `ff-${traceId}-${spanId}-01`,
    `cc-${traceId}-${spanId}-01.more`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId.slice(1)}g-${spanId}-01`,
  ]) {
    t.equal(readTraceContext(['traceparent', bad]), undefined, bad);
  }
  t.equal(readTraceContext(['traceparent', parent, 'traceparent', parent]), undefined, 'two');
  t.equal(readTraceContext(['tracestate', 'a=1']), undefined);
  t.end();
});

await test('a state is passed on as a whole, or not at all', (t) => {
  const stateOf = (...lines: string[]): string | undefined =>
    readTraceContext(['traceparent', parent, ...lines.flatMap((line) => ['tracestate', line])])?.state;
  t.equal(stateOf('a=1, b@c=x y ,', 'd-e/f*=!~'), 'a=1,b@c=x y,d-e/f*=!~');
  const many = Array.from({ length: 33 }, (_, index) => `k${index}=v`);
  t.equal(stateOf(many.slice(1).join(',')), many.slice(1).join(','));
  for (const bad of [
    'a',
    'A=1',
    'a=b=c',
    'a=',
    'a=1,a=2',
    'a=\u00e9',
    '=1',
    `a=${'x'.repeat(600)}`,
    many.join(','),
    '',
  ]) {
    t.equal(stateOf(bad), undefined, bad);
  }
  t.end();
});

await test('a provider is told the span of its attempt, in place of whatever stands there', (t) => {
  const told = (lines: readonly string[], isSampled: boolean): string[] => {
    const trace: RequestTrace = {
      traceId,
      spanId: 'c'.repeat(16),
      parent: readTraceContext(lines),
      isSampled,
      answer: undefined,
    };
    const headers = ['TraceParent', 'x', 'a', 'b', 'tracestate', 'y', 'Traceparent', 'z'];
    writeTraceContext(headers, trace, 'd'.repeat(16));
    return headers;
  };
  const own = `00-${traceId}-${'d'.repeat(16)}`;
  t.same(told([], true), ['a', 'b', 'traceparent', `${own}-03`], 'ids drawn here are random');
  t.same(told(['traceparent', parent, 'tracestate', 'k=v'], false), [
    'a',
    'b',
    'traceparent',
    `${own}-00`,
    'tracestate',
    'k=v',
  ]);
  t.end();
});
