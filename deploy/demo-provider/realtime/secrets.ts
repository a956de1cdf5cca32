// Secrets with which a browser opens a realtime session: made and forgotten, because the demo provider takes any key.
import { randomUUID } from 'node:crypto';
import { digest } from '../answers.ts';
import { invalid } from '../openai/openai.ts';
import { type Body, isObject, requireModel } from '../requests.ts';
import { readSession } from './events.ts';
import { realtimeModel } from './session-door.ts';
import { changeSettings, defaultSettings, describeSession } from './settings.ts';

/** How long a secret is good for. Seconds. */
const seconds = { least: 10, most: 7200, usual: 600 };

/** The answer to `POST /v1/realtime/client_secrets`; `nowMs`: Unix milliseconds. Refuses (400, 404) another session than one of the demo. */
export function mintSecret(body: Body, nowMs: number): object {
  const session = isObject(body['session']) ? body['session'] : {};
  const model = requireModel(session['model'], [realtimeModel]);
  const settings = changeSettings(defaultSettings, readSession(session, model), 'session');
  const expiresAt = Math.floor(nowMs / 1000) + lifetime(body['expires_after']);
  const random = digest(randomUUID());
  const described = describeSession(settings, `sess_${random.slice(40, 61)}`, model, 0);
  return { value: `ek_${random.slice(0, 32)}`, expires_at: expiresAt, session: described };
}

function lifetime(asked: unknown): number {
  if (asked === undefined) return seconds.usual;
  const given = isObject(asked) ? (asked['seconds'] ?? seconds.usual) : undefined;
  if (typeof given === 'number' && given >= seconds.least && given <= seconds.most) return Math.floor(given);
  const message = `Invalid 'expires_after.seconds': expected a number from ${seconds.least} to ${seconds.most}.`;
  throw invalid('expires_after.seconds', message);
}
