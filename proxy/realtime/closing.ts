// Why a session ends, what each end is told of it, and how it is counted.
import type { ErrorCode } from '../errors.ts';
import type { SessionEnd } from '../tallies/session-counts.ts';

/** A code and a reason, as a close frame has them. Code undefined: a frame without any. */
export interface CloseFrame {
  readonly code: number | undefined;
  readonly reason: string;
}

export interface Closing {
  readonly end: SessionEnd;
  readonly toClient: CloseFrame;
  readonly toProvider: CloseFrame;
  /** The error that ended it; undefined: it ended as sessions do. */
  readonly error: ErrorCode | undefined;
}

/** No frame came, or none with a code: these two are never sent (RFC 6455, 7.4.1). */
const noCode = 1005;
const abnormal = 1006;

const goingAway: CloseFrame = { code: 1001, reason: '' };

/** The client has closed, or is gone. */
export function clientClosed(code: number, reason: string): Closing {
  if (code === abnormal) {
    return { end: 'client_lost', toClient: goingAway, toProvider: goingAway, error: 'client_left' };
  }
  const frame = frameOf(code, reason);
  return { end: 'client', toClient: frame, toProvider: frame, error: undefined };
}

/** The provider has closed, or is gone. */
export function providerClosed(code: number, reason: string): Closing {
  if (code === abnormal) return providerLost('The provider closed the connection.', 'upstream_disconnected');
  const frame = frameOf(code, reason);
  return { end: 'provider', toClient: frame, toProvider: frame, error: undefined };
}

/** No sign of life comes from an end. */
export function silent(who: Side): Closing {
  if (who === 'client') return clientClosed(abnormal, '');
  return providerLost('The provider does not answer.', 'upstream_timeout');
}

export type Side = 'client' | 'provider';

/** An end breaks the protocol; `error`: the code that ws gives it. */
export function broken(who: Side, error: string): Closing {
  const isTooLarge = error === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
  const end = isTooLarge ? 'too_large' : 'protocol';
  if (who === 'client') {
    const code = codes[error] ?? 1002;
    return { end, toClient: { code, reason: '' }, toProvider: goingAway, error: undefined };
  }
  const reason = isTooLarge ? 'A message of the provider exceeds server.realtime.frame_limit.' : '';
  const toClient = { code: isTooLarge ? 1009 : 1011, reason };
  return { end, toClient, toProvider: goingAway, error: 'upstream_invalid_response' };
}

/** The code that ws gives an end that breaks the protocol, where it is not 1002. */
const codes: Readonly<Record<string, number>> = {
  WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: 1009,
  WS_ERR_TOO_MANY_BUFFERED_PARTS: 1008,
  WS_ERR_INVALID_UTF8: 1007,
};

/** A message is not complete in time. */
export function unfinished(who: Side): Closing {
  const end = 'message_timeout';
  if (who === 'client') {
    const reason = 'A message was not complete within server.realtime.message_timeout.';
    return { end, toClient: { code: 1008, reason }, toProvider: goingAway, error: 'request_timeout' };
  }
  const toClient = { code: 1011, reason: 'The provider did not complete a message in time.' };
  return { end, toClient, toProvider: goingAway, error: 'upstream_timeout' };
}

/** Its messages do not fit into the memory for bodies. */
export const overloaded: Closing = {
  end: 'overloaded',
  toClient: { code: 1013, reason: 'The gateway is short of memory for messages. Try again.' },
  toProvider: goingAway,
  error: 'overloaded',
};

export const keyRevoked: Closing = {
  end: 'key_revoked',
  toClient: { code: 1008, reason: 'The API key of this session was revoked or has expired.' },
  toProvider: goingAway,
  error: 'key_revoked',
};

export const tooLong: Closing = {
  end: 'session_max',
  toClient: { code: 1001, reason: 'The session has reached server.realtime.session_max.' },
  toProvider: goingAway,
  error: undefined,
};

export const shuttingDown: Closing = {
  end: 'draining',
  toClient: { code: 1001, reason: 'The gateway is shutting down.' },
  toProvider: goingAway,
  error: undefined,
};

function providerLost(reason: string, error: ErrorCode): Closing {
  return { end: 'provider_lost', toClient: { code: 1011, reason }, toProvider: goingAway, error };
}

function frameOf(code: number, reason: string): CloseFrame {
  return code === noCode ? { code: undefined, reason: '' } : { code, reason };
}
