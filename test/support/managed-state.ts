// The content of a state store for tests: a key, and the heartbeat of a proxy.
import { type AuthKey, type AuthKeyFields, authKey } from '../../domain/keys/auth-key.ts';
import { digestOf, redacted } from '../../domain/keys/secret.ts';
import type { HeartbeatBody } from '../../store/state/heartbeat-body.ts';

/** A key that may do what any key may, and never expires. */
export function sampleKey(secret: string, more: Partial<AuthKeyFields> = {}): AuthKey {
  return authKey({
    id: crypto.randomUUID(),
    name: 'a key',
    description: undefined,
    userPath: undefined,
    anyUserPath: more.userPath === undefined,
    labels: [],
    allowedModels: [],
    role: undefined,
    digest: digestOf(secret),
    redactedValue: redacted(secret),
    enabled: true,
    expiresAtMs: Number.POSITIVE_INFINITY,
    deactivatedAtMs: undefined,
    createdAtMs: 0,
    updatedAtMs: 0,
    createdBy: 'master_key',
    ...more,
  });
}

/** The heartbeat of a healthy proxy. */
export function sampleHeartbeat(more: Partial<HeartbeatBody> = {}): HeartbeatBody {
  return {
    started_at_ms: 0,
    config_revision: 'r',
    config_source: 'directory',
    config_problems: [],
    store_id: null,
    state_revision: 0,
    state_source: 'store',
    limiter: 'enforcing',
    environment: 'e',
    counters: [],
    ...more,
  };
}
