// Talks to a realtime model in text: says something, prints the answer while it comes, and with --wav keeps how it sounds.
import { writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { parseArgs } from 'node:util';
import { WebSocket } from 'ws';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { stay: { type: 'boolean', default: false }, wav: { type: 'string' } },
});
const address = process.env['REALTIME_URL'] || 'ws://127.0.0.1:8190/v1/realtime?model=voice';
const key = process.env['REALTIME_KEY'] ?? '';
const sampleRate = 24_000;
/** Ten minutes. */
const mostSoundBytes = 600 * sampleRate * 2;
/** Of a refusal. */
const mostTextBytes = 64 * 1024;

type Event = {
  readonly type?: string;
  readonly delta?: string;
  readonly error?: { readonly message?: string };
  readonly response?: { readonly usage?: { readonly input_tokens?: number; readonly output_tokens?: number } };
};

const sound: Buffer[] = [];
let soundBytes = 0;
const socket = new WebSocket(address, [], { headers: { authorization: `Bearer ${key}` } });
socket.on('message', (data) => hear(JSON.parse(data.toString()) as Event));
socket.on('unexpected-response', (_, answer) => readRefusal(answer));
socket.on('error', (error) => fail(`no session: ${error.message}`));
socket.on('close', (code, reason) => {
  process.stdout.write(`closed: ${code} ${reason.toString()}`.trimEnd().concat('\n'));
});
// Tells the model that the caller has left.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => socket.close(1000, ''));

function send(event: object): void {
  socket.send(JSON.stringify(event));
}

/** Asks when the session is there, prints what comes, and leaves when the answer is complete. */
function hear({ type, delta = '', error, response }: Event): void {
  if (type === 'session.created') {
    const content = [{ type: 'input_text', text: positionals.join(' ') || 'Hello' }];
    const modality = values.wav === undefined ? 'text' : 'audio';
    send({ type: 'session.update', session: { type: 'realtime', output_modalities: [modality] } });
    send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
    send({ type: 'response.create' });
  } else if (type === 'response.output_text.delta' || type === 'response.output_audio_transcript.delta') {
    process.stdout.write(delta);
  } else if (type === 'response.output_audio.delta' && soundBytes < mostSoundBytes) {
    sound.push(Buffer.from(delta, 'base64'));
    soundBytes += sound.at(-1)?.length ?? 0;
  } else if (type === 'response.done') {
    const { input_tokens: read, output_tokens: said } = response?.usage ?? {};
    process.stdout.write(`\n(${read} tokens read, ${said} said)\n`);
    if (values.wav !== undefined) writeFileSync(values.wav, Buffer.concat([wavHead(soundBytes), ...sound]));
    if (!values.stay) socket.close(1000, '');
  } else if (type === 'error') {
    process.stderr.write(`error: ${error?.message}\n`);
    process.exitCode = 1;
    socket.close(1000, '');
  }
}

/** The head of a WAV file with so many bytes of PCM: 16 bits, one channel. */
function wavHead(bytes: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + bytes, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(sampleRate, 24);
  head.writeUInt32LE(sampleRate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(bytes, 40);
  return head;
}

/** Until it is opened, a session is a request: what stands against it is an ordinary error with a status. */
function readRefusal(answer: IncomingMessage): void {
  let text = '';
  answer.on('data', (piece: Buffer) => {
    if (text.length < mostTextBytes) text += piece.toString();
  });
  answer.on('end', () => {
    const { 'retry-after': retryAfter, 'x-gateway-rule': rule } = answer.headers;
    const hints = [retryAfter && `retry after ${retryAfter} s`, rule && `rule ${String(rule)}`].filter(Boolean);
    fail(`refused: ${[answer.statusCode, ...hints].join(', ')}\n${text}`);
  });
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
