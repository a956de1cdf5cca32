// A write of an operator that is answered → its record: who changed what, from which state to which, or why it was refused.

import { authMethodOf } from '../../domain/records/auth-method.ts';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import { withoutKeysOfQuery, withoutSecrets } from '../../schemas/formats/key-shapes.ts';
import { recordId } from '../../store/records/record-id.ts';
import type { Operator } from '../authenticate.ts';
import type { Refusal } from '../errors.ts';

/** The change of a finished write. */
export interface AdminChange {
  /** Its subject: a rule by its title, a key by its id. */
  readonly about: string;
  /** `before` and `after`, where documents have changed; other members are for the log. */
  readonly facts: object;
}

export interface AdminWrite {
  readonly requestId: string;
  readonly operator: Operator;
  /** Unix milliseconds. */
  readonly startedMs: number;
  readonly endedMs: number;
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly clientAddress: string;
  readonly userAgent: string | undefined;
  /** The key that the operator has shown. */
  readonly secrets: readonly string[];
  readonly status: number;
  /** Undefined: nothing was changed, or it is not known. */
  readonly change: AdminChange | undefined;
  readonly refused: Pick<Refusal, 'code' | 'message' | 'type'> | undefined;
}

/** The control plane that answered. */
export interface WriteContext {
  readonly instance: string;
  readonly configRevision: string;
}

/** Of a path, a client's name for itself and an error's message. Characters. */
const longestText = 2048;

/** The record of `data.event_type` `admin_write`; the change is its `request_body`. Documents hold no keys already. */
export function recordOfWrite(write: AdminWrite, { instance, configRevision }: WriteContext): RequestRecord {
  const { operator, startedMs, endedMs, change, refused, userAgent, secrets } = write;
  const method = authMethodOf(operator.kind);
  const { person } = operator.session ?? {};
  return {
    id: recordId(startedMs),
    request_id: write.requestId,
    started_ms: Math.floor(startedMs),
    // A clock that was set back must not make it negative.
    duration_ns: Math.max(0, Math.round((endedMs - startedMs) * 1e6)),
    method: write.method,
    path: withoutKeysOfQuery(write.path.slice(0, longestText), secrets),
    status_code: write.status,
    stream: false,
    user_path: operator.userPath,
    ...(operator.keyId === undefined ? undefined : { auth_key_id: operator.keyId }),
    ...(method === undefined ? undefined : { auth_method: method }),
    client_ip: write.clientAddress,
    alias_used: false,
    ...(refused === undefined ? undefined : { error_type: refused.type }),
    attempts: [],
    data: {
      event_type: 'admin_write',
      ...(refused === undefined
        ? undefined
        : { error_code: refused.code, error_message: withoutSecrets(refused.message.slice(0, longestText), secrets) }),
      ...(userAgent === undefined
        ? undefined
        : { user_agent: withoutKeysOfQuery(userAgent.slice(0, longestText), secrets) }),
      ...(change === undefined ? undefined : { about: change.about, request_body: bodyOf(change) }),
      ...(person === undefined ? undefined : { operator_name: person.name }),
      config_revision: configRevision,
      instance,
    },
  };
}

/** A reset has neither `before` nor `after`: it changes counters alone. */
function bodyOf({ about, facts }: AdminChange): object {
  const { before, after } = facts as { readonly before?: unknown; readonly after?: unknown };
  return {
    about,
    ...(before === undefined ? undefined : { before }),
    ...(after === undefined ? undefined : { after }),
  };
}
