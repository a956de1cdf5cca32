// A provider is not reached, or says nothing, or not in time.
import type { Scenario } from '../scenario.ts';

const first_byte = '400ms';
const published = { isPublished: true } as const;

export const silence: readonly Scenario[] = [
  {
    name: 'the connection is refused',
    ...published,
    plans: [{ unreached: 'port' }, 'answers'],
    sees: 'answer',
  },
  { name: 'TLS fails', plans: [{ unreached: 'tls' }, 'answers'], sees: 'answer' },
  { name: 'DNS fails', plans: [{ unreached: 'dns' }, 'answers'], sees: 'answer', withinMs: 5_000 },
  {
    name: 'accepted, and silent',
    ...published,
    plans: [{ until: 'nothing', ending: 'silence' }, 'answers'],
    sees: 'answer',
    timeouts: { first_byte },
  },
  {
    name: 'a slow first token, in time',
    plans: [{ waitsMs: 300, at: 'nothing' }, 'answers'],
    sees: 'answer',
    calls: [1, 0],
  },
  {
    name: 'a slow first token, too late',
    form: 'SSE',
    plans: [{ waitsMs: 5_000, at: 'nothing' }, 'answers'],
    sees: 'answer',
    timeouts: { first_event: first_byte },
  },
  {
    name: 'headers, and then silence',
    plans: [{ until: 'head', ending: 'silence' }, 'answers'],
    sees: 'answer',
    timeouts: { first_byte, stream_idle: first_byte },
  },
  {
    name: 'the role, and then a slow first word',
    form: 'SSE',
    plans: [{ waitsMs: 800, at: 'role' }, 'answers'],
    sees: 'answer',
    calls: [1, 0],
  },
  {
    name: 'the role, and then silence',
    form: 'SSE',
    alias: { rescue: 'continue' },
    plans: [{ until: 'role', ending: 'silence' }, 'answers'],
    sees: 'answer',
    timeouts: { stream_idle: first_byte },
    withinMs: 2_500,
  },
  {
    name: 'a stall in the middle',
    alias: { rescue: 'continue' },
    plans: [{ until: 'middle', ending: 'silence' }, 'goes on'],
    sees: 'answer',
    timeouts: { stream_idle: first_byte },
  },
];
