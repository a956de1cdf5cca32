// An answer with status 200 that no client can use.
import type { Scenario } from '../scenario.ts';

const json = 'application/json';
const sse = 'text/event-stream';
const error = '{"error":{"message":"The server is overloaded.","type":"server_error","code":503}}';
const beside = (name: string, body: string, type: string, more: Partial<Scenario> = {}): Scenario => ({
  name,
  plans: [{ body, type }, 'answers'],
  sees: 'answer',
  ...more,
});

export const invalid: readonly Scenario[] = [
  beside('200 with an error body', error, json),
  beside('200 with an HTML page', '<!doctype html><title>Maintenance</title>', 'text/html'),
  beside('200 with an HTML page, called JSON', '<!doctype html><title>Maintenance</title>', json, { form: 'JSON' }),
  {
    name: 'the answer, called `text/plain`',
    plans: [{ headers: { 'content-type': 'text/plain' } }, 'answers'],
    sees: 'answer',
    calls: [1, 0],
  },
  beside('malformed JSON', '{"id":"x","choices":[{"index":0,"message":}]}', json, {
    isPublished: true,
    form: 'JSON',
  }),
  beside('truncated JSON', '{"id":"x","choices":[{"index":0,"mess', json, { form: 'JSON' }),
  beside('a first event of malformed JSON', 'data: {"id":"x","choices":[{"index":0,"delta":}]}\n\n', sse, {
    form: 'SSE',
  }),
  beside('an empty body', '', json, { form: 'JSON' }),
  beside('an empty stream', '', sse, { form: 'SSE' }),
  beside('an empty object', '{}', json, { form: 'JSON' }),
  beside('a stream of comments alone', ': wait\n\n: wait\n\n', sse, { form: 'SSE' }),
];
