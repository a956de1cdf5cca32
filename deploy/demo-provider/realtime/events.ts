// The events of a client of realtime: how they are read, and what an error event says about one that is refused.
import { invalid, unknownValue } from '../openai/openai.ts';
import { type Body, isObject, optionalText, Refusal } from '../requests.ts';

/** Undefined: it is no JSON object. */
export function readEvent(text: string): Body | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The refusal of what is none of the `known` events. */
export function refuseEvent(event: Body | undefined, known: readonly string[]): Refusal {
  if (event === undefined)
    return new Refusal(400, 'Invalid event: expected a JSON object as text.', null, 'invalid_event');
  const { type } = event;
  if (type === undefined) return invalid('type', "Missing required parameter: 'type'.", 'missing_required_parameter');
  return unknownValue('type', type, known.map((name) => `'${name}'`).join(', '));
}

/** The changes in `session`. Refuses another kind of session, and another model than that of the session. */
export function readSession(session: unknown, model: string): Body {
  if (!isObject(session)) throw missing('session');
  const { type, model: asked = model } = session;
  if (type === undefined) throw missing('session.type');
  if (type !== 'realtime') throw unknownValue('session.type', type, "'realtime'");
  if (asked === model) return session;
  throw invalid('session.model', `Cannot change the model of a session: it is '${model}'.`, 'cannot_update_model');
}

/** How many bytes of sound an event brings; refuses (400) what is no base64. */
export function soundBytesIn(audio: unknown): number {
  if (typeof audio !== 'string') throw missing('audio');
  if (audio.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(audio)) return Buffer.byteLength(audio, 'base64');
  throw invalid('audio', "Invalid 'audio'. Expected base64-encoded audio bytes.", 'invalid_value');
}

/** The `error` of an error event; `event` is the one that it is about. */
export function describeError(error: unknown, event: Body | undefined): object {
  const eventId = optionalText(event?.['event_id']) ?? null;
  if (!(error instanceof Refusal)) {
    const message = 'The demo provider failed to answer.';
    return { type: 'server_error', code: null, message, param: null, event_id: eventId };
  }
  const { code, message, param } = error;
  return { type: 'invalid_request_error', code, message, param, event_id: eventId };
}

function missing(param: string): Refusal {
  return invalid(param, `Missing required parameter: '${param}'.`, 'missing_required_parameter');
}
