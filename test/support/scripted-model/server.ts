// A provider with a scripted model: it checks what it gets as the real one would, and tells what the scenario has, in small pieces.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { listen } from '../ports.ts';
import type { Teardown } from '../teardown.ts';
import { type Members, Refused } from './checks.ts';
import type { Heard } from './heard.ts';
import { answerTo, type Saying } from './scenarios.ts';
import type { Received, Said, Wire } from './wire.ts';

/** A request and what became of it. */
export interface Taken {
  readonly received: Received;
  heard: Heard | undefined;
  /** Why it was refused. */
  refused: string | undefined;
  /** The client left before the end of the answer. */
  isLeft: boolean;
}

export interface ScriptedModel {
  readonly wire: Wire;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly requests: readonly Taken[];
}

/** Sizes of pieces, in bytes, over and over: odd ones, so that they end in the middle of lines, of numbers and of characters. */
const sizes: readonly number[] = [1, 163, 5, 331, 2, 83, 3, 1021];
/** Between events of a slow answer. */
const pauseMs = 25;
/** Told with 429: longer than the gateway waits. */
const retryAfterSeconds = '20';

/**
 * `answer`: what the model says; it throws a Refused when something is not as it must be. `firstNumber`: ids are made of numbers, from this one
 * on.
 */
export async function startScriptedModel(
  t: Teardown,
  wire: Wire,
  answer: (heard: Heard) => Saying = answerTo,
  firstNumber = 1,
): Promise<ScriptedModel> {
  const requests: Taken[] = [];
  // A connection that it closed at the moment of a request would be a failure of the provider.
  const server = createServer({ noDelay: true, keepAliveTimeout: 60_000 }, (request, response) => {
    void take(request, response);
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = JSON.parse(Buffer.concat(pieces).toString('utf8')) as Members;
    const received = { path: request.url ?? '', headers: request.headers, body };
    const taken: Taken = { received, heard: undefined, refused: undefined, isLeft: false };
    const number = requests.push(taken) - 1 + firstNumber;
    response.on('close', () => {
      taken.isLeft = !response.writableFinished;
    });
    try {
      taken.heard = wire.read(received);
      const said = { saying: answer(taken.heard), heard: taken.heard, number };
      await (taken.heard.stream ? streamed(response, wire, said) : whole(response, 200, wire.answer(said)));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const { message, status } = error;
      taken.refused = message;
      if (status === 429) response.setHeader('retry-after', retryAfterSeconds);
      await whole(response, status, wire.error(status, message));
    }
  }

  return { wire, requests, url: `http://127.0.0.1:${await listen(server)}` };
}

async function whole(response: ServerResponse, status: number, body: object): Promise<void> {
  response.writeHead(status, { 'content-type': 'application/json' });
  await inPieces(response, Buffer.from(JSON.stringify(body)));
  response.end();
}

async function streamed(response: ServerResponse, wire: Wire, said: Said): Promise<void> {
  const events = wire.stream(said);
  response.writeHead(200, { 'content-type': wire.streamType });
  if (said.saying.isSlow) {
    for (const event of events) {
      if (response.destroyed) return;
      response.write(event);
      await setTimeout(pauseMs);
    }
  } else await inPieces(response, Buffer.concat(toldOf(events, wire, said).map((event) => Buffer.from(event))));
  response.end();
}

/** All events, or, when the answer breaks off, some of them and an error. */
function toldOf(events: readonly (string | Buffer)[], wire: Wire, { saying }: Said): readonly (string | Buffer)[] {
  if (!saying.breaks) return events;
  return [...events.slice(0, Math.ceil(events.length / 2)), wire.failure('The model is overloaded.')];
}

async function inPieces(response: ServerResponse, bytes: Buffer): Promise<void> {
  let start = 0;
  for (let index = 0; start < bytes.length && !response.destroyed; index += 1) {
    const end = start + (sizes[index % sizes.length] ?? 1);
    response.write(bytes.subarray(start, end));
    start = end;
    await setImmediate();
  }
}
