// How a caller authenticated, as records name it (spec: Audit entry, `auth_method`).
import type { Caller } from '../keys/credentials.ts';
import type { AuthMethod } from './request-record.ts';

const methods: Readonly<Record<Caller['kind'], AuthMethod>> = {
  master_key: 'master_key',
  managed_key: 'api_key',
  identity: 'jwt',
  certificate: 'certificate',
  person: 'sign_in',
  anonymous: 'no_key',
};

/** The method of a kind of caller (`Caller.kind`); undefined for an unknown kind. */
export function authMethodOf(kind: string): AuthMethod | undefined {
  return Object.hasOwn(methods, kind) ? methods[kind as Caller['kind']] : undefined;
}
