// The demo provider's realtime sessions, as OpenAI's client has them: what each event is answered with, and what is refused.
import { connect } from 'node:net';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import type { RealtimeServerEvent } from 'openai/resources/realtime/realtime';
import { t as suite, test } from 'tap';
import { WebSocket } from 'ws';
import { startProcess } from '../support/process.ts';
import { rawRequest } from '../support/raw-http.ts';
import { trySession } from '../support/realtime-client.ts';
import type { Teardown } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const model = 'demo-realtime';
const demo = await startProcess({
  t: suite,
  entry: 'deploy/demo-provider/provider.ts',
  env: { DEMO_PROVIDER_PORT: '0', DEMO_TOKEN_INTERVAL_MS: '1' },
});
const port = Number(new URL(demo.address).port);
const client = new OpenAI({ apiKey: 'anything', baseURL: `${demo.address}/v1`, maxRetries: 0 });

/** The client speaks TLS alone, so it is given a connection without. */
const plainly = { createConnection: () => connect(port, '127.0.0.1') };

interface Session {
  readonly send: (event: object) => void;
  readonly created: RealtimeServerEvent;
  /** The events from now on, up to the first of this type. */
  readonly until: (type: string) => Promise<RealtimeServerEvent[]>;
  readonly socket: OpenAIRealtimeWS['socket'];
}

/** A session that has begun. */
async function open(t: Teardown): Promise<Session> {
  const realtime = new OpenAIRealtimeWS({ model, options: plainly }, client);
  t.teardown(() => realtime.socket.terminate());
  const events: RealtimeServerEvent[] = [];
  let read = 0;
  realtime.on('event', (event) => events.push(event));
  realtime.on('error', () => undefined);
  const until = async (type: string): Promise<RealtimeServerEvent[]> => {
    const from = read;
    await waitFor(type, () => {
      const at = events.findIndex((event, index) => index >= from && event.type === type);
      if (at >= 0) read = at + 1;
      return at >= 0;
    });
    return events.slice(from, read);
  };
  const [created] = await until('session.created');
  if (created === undefined) throw new Error('a session begins with an event');
  const send = (event: object): void => realtime.socket.send(JSON.stringify(event));
  return { socket: realtime.socket, created, send, until };
}

/** The code with which it is closed. */
const closeOf = (socket: Pick<Session['socket'], 'on'>): Promise<number> =>
  new Promise((done) => socket.on('close', done));
const types = (events: readonly RealtimeServerEvent[]): string[] => [...new Set(events.map(({ type }) => type))];
const told = (text: string) => ({
  type: 'conversation.item.create',
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
});
const ask = { type: 'response.create' };
const deltas = (events: readonly RealtimeServerEvent[], type: string): string[] =>
  events.flatMap((event) => (event.type === type && 'delta' in event ? [event.delta] : []));
/** What `response.done` says at the end of these events. */
function doneIn(events: readonly RealtimeServerEvent[]) {
  const last = events.at(-1);
  if (last?.type !== 'response.done') throw new Error(`the last event is ${last?.type}`);
  return last.response;
}

await test('a text is answered in text, with every event in its order and tokens at the end', async (t) => {
  const { created, send, until } = await open(t);
  t.match(created, {
    event_id: /^event_/,
    session: { type: 'realtime', model, id: /^sess_/, output_modalities: ['text'] },
  });
  send({ type: 'session.update', session: { type: 'realtime', instructions: 'Be brief.', max_output_tokens: 500 } });
  t.match(await until('session.updated'), [{ session: { instructions: 'Be brief.', max_output_tokens: 500 } }]);
  send(told('Why is the sky blue?'));
  const added = await until('conversation.item.done');
  t.match(added, [
    { type: 'conversation.item.added', previous_item_id: null, item: { role: 'user', status: 'completed' } },
    { type: 'conversation.item.done' },
  ]);
  send(ask);
  const events = await until('response.done');
  t.strictSame(types(events), [
    'response.created',
    'response.output_item.added',
    'conversation.item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'conversation.item.done',
    'response.output_item.done',
    'response.done',
  ]);
  const text = deltas(events, 'response.output_text.delta').join('');
  t.match(text, /sky blue\?.*demo-realtime/);
  const { status, output, usage } = doneIn(events);
  t.match({ status, output }, { status: 'completed', output: [{ role: 'assistant', content: [{ text }] }] });
  const { input_tokens: input = 0, output_tokens: said = 0, total_tokens: total } = usage ?? {};
  t.ok(input > 8 && said > 8);
  t.equal(total, input + said);
  t.match(usage, { input_token_details: { text_tokens: input }, output_token_details: { text_tokens: said } });
});

await test('sound goes in and comes out: a tone as long as its transcript', async (t) => {
  const { send, until } = await open(t);
  send({ type: 'session.update', session: { type: 'realtime', output_modalities: ['audio'] } });
  const second = Buffer.alloc(48_000).toString('base64');
  send({ type: 'input_audio_buffer.append', audio: second });
  send({ type: 'input_audio_buffer.commit' });
  await until('input_audio_buffer.committed');
  send(ask);
  const events = await until('response.done');
  const words = deltas(events, 'response.output_audio_transcript.delta');
  t.match(words.join(''), /I hear one sound of 48000 bytes \(audio\/pcm\)/);
  const sound = Buffer.concat(
    deltas(events, 'response.output_audio.delta').map((delta) => Buffer.from(delta, 'base64')),
  );
  t.equal(sound.length, words.length * 3_840, '80 ms of 24 kHz for each token');
  const samples = Array.from({ length: sound.length / 2 }, (_, index) => sound.readInt16LE(index * 2));
  const crossings = samples.filter((sample, index) => index > 0 && (samples[index - 1] ?? 0) < 0 && sample >= 0).length;
  const hertz = crossings / (samples.length / 24_000);
  t.ok(Math.abs(hertz - 440) < 5, `a tone of 440 Hz, heard as ${hertz}`);
  const { output, usage } = doneIn(events);
  t.match(output, [{ content: [{ type: 'output_audio', transcript: words.join('') }] }]);
  t.match(usage, { input_token_details: { audio_tokens: 85 }, output_token_details: { audio_tokens: words.length } });
});

await test('a tool is called and its result is quoted; a response apart leaves the conversation as it was', async (t) => {
  const { send, until } = await open(t);
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const tools = [{ type: 'function', name: 'get_weather', parameters }];
  send({ type: 'session.update', session: { type: 'realtime', tools } });
  send(told('Use get_weather for Paris.'));
  await until('conversation.item.done');
  send(ask);
  const events = await until('response.done');
  const written = deltas(events, 'response.function_call_arguments.delta').join('');
  t.strictSame(JSON.parse(written), { city: 'Paris' });
  const [call] = doneIn(events).output ?? [];
  t.match(call, { type: 'function_call', name: 'get_weather', call_id: /^call_/, arguments: written });
  const callId = call !== undefined && 'call_id' in call ? call.call_id : '';
  const result = { type: 'function_call_output', call_id: callId, output: 'rain' };
  send({ type: 'conversation.item.create', item: { ...result, id: 'mine' } });
  await until('conversation.item.done');
  send(ask);
  t.match(deltas(await until('response.done'), 'response.output_text.delta').join(''), /get_weather says “rain”/);

  const apart = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Apart?' }] }];
  send({ type: 'response.create', response: { conversation: 'none', input: apart, metadata: { for: 'a test' } } });
  const alone = await until('response.done');
  t.notOk(types(alone).some((type) => type.startsWith('conversation.')));
  t.match(doneIn(alone), { conversation_id: null, metadata: { for: 'a test' } });
  send({ type: 'conversation.item.delete', item_id: 'mine' });
  t.match(await until('conversation.item.deleted'), [{ item_id: 'mine' }]);
  send({ type: 'conversation.item.retrieve', item_id: 'mine' });
  t.match(await until('error'), [{ error: { code: 'item_not_found' } }]);
});

await test('a response is cut by its limit, or cancelled, and there is one at a time', async (t) => {
  const { send, until } = await open(t);
  send(told('Hello'));
  send({ type: 'response.create', response: { max_output_tokens: 3 } });
  t.match(doneIn(await until('response.done')), {
    status: 'incomplete',
    status_details: { reason: 'max_output_tokens' },
    output: [{ status: 'incomplete' }],
    usage: { output_tokens: 3 },
  });
  send(ask);
  await until('response.output_text.delta');
  send(ask);
  send({ type: 'response.cancel' });
  const events = await until('response.done');
  t.match(
    events.find(({ type }) => type === 'error'),
    { error: { code: 'conversation_already_has_active_response' } },
  );
  t.match(doneIn(events), { status: 'cancelled', status_details: { reason: 'client_cancelled' } });
  send({ type: 'response.cancel' });
  t.match(await until('error'), [{ error: { code: 'response_cancel_not_active' } }]);
});

await test('what it cannot do is an error event that names the event, and the session goes on', async (t) => {
  const { send, until, socket } = await open(t);
  const update = (session: object) => ({ type: 'session.update', session: { type: 'realtime', ...session } });
  const quarter = Buffer.alloc(48_000 * 15).toString('base64');
  const cases: readonly (readonly [object, string | null, string | null])[] = [
    [{ type: 'response.dance' }, 'type', 'invalid_value'],
    [{ type: 'toString' }, 'type', 'invalid_value'],
    [{}, 'type', 'missing_required_parameter'],
    [{ type: 'session.update' }, 'session', 'missing_required_parameter'],
    [update({ model: 'other' }), 'session.model', 'cannot_update_model'],
    [update({ output_modalities: ['text', 'audio'] }), 'session.output_modalities', 'invalid_value'],
    [update({ max_output_tokens: 0 }), 'session.max_output_tokens', 'invalid_value'],
    [
      update({ audio: { input: { turn_detection: { type: 'server_vad' } } } }),
      'session.audio.input.turn_detection',
      'invalid_value',
    ],
    [update({ audio: { output: { format: { type: 'audio/pcmu' } } } }), 'session.audio.output.format', 'invalid_value'],
    [
      { type: 'conversation.item.create', item: { type: 'message', role: 'cat', content: [] } },
      'item.role',
      'invalid_value',
    ],
    [
      { type: 'conversation.item.create', item: { type: 'function_call_output', call_id: 'x', output: '' } },
      'item.call_id',
      'invalid_tool_call_id',
    ],
    [{ type: 'input_audio_buffer.commit' }, 'audio', 'input_audio_buffer_commit_empty'],
    [{ type: 'input_audio_buffer.append', audio: '%' }, 'audio', 'invalid_value'],
  ];
  for (const [event, param, code] of cases) {
    send({ ...event, event_id: 'mine' });
    t.match(await until('error'), [{ error: { type: 'invalid_request_error', param, code, event_id: 'mine' } }]);
  }
  for (const text of ['{', '[]']) {
    socket.send(text);
    t.match(await until('error'), [{ error: { code: 'invalid_event' } }]);
  }
  for (let count = 0; count < 9; count += 1) send({ type: 'input_audio_buffer.append', audio: quarter });
  t.match(await until('error'), [{ error: { param: 'audio', message: /120 s/ } }], 'sound is bounded');
  send({ type: 'input_audio_buffer.clear' });
  await until('input_audio_buffer.cleared');
  const long = 'a'.repeat(400_000);
  for (let count = 0; count < 3; count += 1) send(told(long));
  t.match((await until('error')).at(-1), { error: { code: 'conversation_too_large' } }, 'a conversation is bounded');
  send({ type: 'input_audio_buffer.append', audio: 'a'.repeat(1 << 20) });
  t.equal(await closeOf(socket), 1009, 'an event is bounded');
});

await test('a secret is minted for a session; a handshake for anything else is refused as HTTP', async (t) => {
  const secret = await client.realtime.clientSecrets.create({
    session: { type: 'realtime', model, instructions: 'Be brief.' },
    expires_after: { anchor: 'created_at', seconds: 60 },
  });
  t.match(secret, { value: /^ek_/, session: { type: 'realtime', model, instructions: 'Be brief.' } });
  const left = secret.expires_at - Date.now() / 1000;
  t.ok(left > 50 && left <= 60);
  await t.rejects(client.realtime.clientSecrets.create({ session: { type: 'realtime', model: 'demo-small' } }), {
    status: 404,
    code: 'model_not_found',
  });
  const place = { url: demo.address };
  t.match(await trySession(place, { query: '?model=demo-small' }), {
    refusal: { status: 404, error: { code: 'model_not_found' } },
  });
  t.match(await trySession(place, { query: '' }), { refusal: { status: 400 } });
  const { session } = await trySession(place, {
    query: `?model=${model}`,
    protocols: ['realtime', `openai-insecure-api-key.${secret.value}`],
  });
  t.equal(session?.socket.protocol, 'realtime');
  session?.socket.terminate();
  const other = await rawRequest(
    port,
    'GET /v1/models HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: close\r\n\r\n',
  );
  t.equal(other.responses[0]?.status, 200, 'another upgrade is ignored, as HTTP allows');
});

await test('when the provider stops, sessions are closed', async (t) => {
  const socket = new WebSocket(`${demo.address.replace('http', 'ws')}/v1/realtime?model=${model}`, []);
  await new Promise<void>((opened) => socket.on('open', opened));
  const closed = closeOf(socket);
  t.strictSame(await demo.stop(), { code: 0, signal: null });
  t.equal(await closed, 1001);
});
