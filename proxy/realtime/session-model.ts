// The model of a session that is asked for in a body or a query, and the same with the model of a target in its place.
import { isUtf8 } from 'node:buffer';
import { boundaryOf, FormReader } from '../call/form-reader.ts';
import { type JsonObject, objectOf, parseObject, textOf, writeJson } from '../dialects/json/json.ts';
import { refusal } from '../errors.ts';
import { partsNamed } from './form-part.ts';

/** The request of a client. */
export interface SessionRequest {
  /** Without parameters that matter, as it is sent on. */
  readonly contentType: string;
  readonly body: Buffer;
  readonly query: URLSearchParams;
}

export interface NamedModel {
  readonly model: string;
  /** It is named in the query, and the provider is told there, too. */
  readonly isInQuery: boolean;
  /** The body for a target with this model. */
  bodyFor(model: string): Buffer;
}

const json = /^application\/json\s*(?:;|$)/i;
const sdp = /^application\/sdp\s*(?:;|$)/i;

/**
 * The model of `session.model`, else of a transcription session, else of the query. Throws 415 `unsupported_media_type` for other types than
 * JSON and, where `takesSdp`, SDP and forms; 400 `invalid_json`, `invalid_upload`, `duplicate_key`, `invalid_model`.
 */
export function namedModel({ contentType, body, query }: SessionRequest, takesSdp: boolean): NamedModel {
  if (json.test(contentType)) {
    const whole = objectIn(body);
    const session = objectOf(whole['session']);
    return inSession(session, query, body, (changed) => Buffer.from(writeJson({ ...whole, session: changed })));
  }
  if (!takesSdp) throw refusal('unsupported_media_type');
  if (sdp.test(contentType)) return inQuery(query, body);
  const spans = partsNamed('session', body, contentType);
  if (spans === undefined) throw refusal('unsupported_media_type');
  if (spans.length !== sessionsIn(body, contentType) || spans.length > 1)
    throw refusal('duplicate_key', { param: 'session', fill: { key: 'session' } });
  const [span] = spans;
  if (span === undefined) return inQuery(query, body);
  const session = objectIn(body.subarray(span.start, span.end));
  return inSession(session, query, body, (changed) =>
    Buffer.concat([body.subarray(0, span.start), Buffer.from(writeJson(changed)), body.subarray(span.end)]),
  );
}

/** How many parts say a session. Throws 400 `invalid_upload` for a form that two readers could understand differently. */
function sessionsIn(body: Buffer, contentType: string): number {
  let found = 0;
  const nothing = (): void => undefined;
  const reader = new FormReader(boundaryOf(contentType), {
    beginPart: ({ name }) => (found += name.trim().toLowerCase() === 'session' ? 1 : 0),
    takeContent: nothing,
    endPart: nothing,
    endForm: nothing,
  });
  reader.push(body);
  reader.finish();
  return found;
}

function objectIn(body: Buffer): JsonObject {
  const object = isUtf8(body) ? parseObject(body.toString()) : undefined;
  if (object === undefined) throw refusal('invalid_json', { fill: { reason: 'it must be an object' } });
  return object;
}

function inSession(
  session: JsonObject | undefined,
  query: URLSearchParams,
  body: Buffer,
  write: (session: JsonObject) => Buffer,
): NamedModel {
  const audio = objectOf(session?.['audio']);
  const input = objectOf(audio?.['input']);
  const transcription = objectOf(input?.['transcription']);
  if (session?.['model'] !== undefined) {
    const model = checked(textOf(session['model']));
    return { model, isInQuery: false, bodyFor: (other) => write({ ...session, model: other }) };
  }
  if (session?.['type'] === 'transcription' && transcription !== undefined) {
    const model = checked(textOf(transcription['model']));
    const nested = (other: string): JsonObject => ({
      ...session,
      audio: { ...audio, input: { ...input, transcription: { ...transcription, model: other } } },
    });
    return { model, isInQuery: false, bodyFor: (other) => write(nested(other)) };
  }
  return inQuery(query, body);
}

function inQuery(query: URLSearchParams, body: Buffer): NamedModel {
  return { model: modelIn(query), isInQuery: true, bodyFor: () => body };
}

/** Throws 400 `invalid_model` when the query names none, or several. */
export function modelIn(query: URLSearchParams): string {
  const [model, ...more] = query.getAll('model');
  return checked(more.length === 0 ? model : undefined);
}

function checked(model: string | undefined): string {
  if (model === undefined || model.trim() === '' || model.length > 1024 || model.includes('\0')) {
    throw refusal('invalid_model', { param: 'model' });
  }
  return model;
}
