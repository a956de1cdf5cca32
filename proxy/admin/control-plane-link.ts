// How this proxy reaches the control plane, by its settings.
import { clientAddressHeader, signClientAddress } from '../../domain/keys/client-address.ts';
import type { Environment } from '../environment.ts';
import { type Authorities, authoritiesOf } from '../upstream/dial/trust.ts';
import type { Origin } from '../upstream/pools.ts';
import { controlPlaneConnectMs } from './control-plane-watch.ts';

/** How this proxy reaches the control plane. */
export interface ControlPlaneLink extends Origin {
  /** Besides those of the system; undefined: none. */
  readonly authorities: Authorities | undefined;
  /** Trusts other authorities from now on: PEM. */
  renewAuthorities(pem: string): void;
  /** How long an admin request may take. Milliseconds. */
  readonly timeoutMs: number;
  /** Opens sessions of browsers; undefined: there are none. */
  masterKey(): string | undefined;
  /** Says truthfully who the client is; undefined where nothing is trusted. */
  signAddress(address: string): string | undefined;
  /** The headers of requests in the name of this proxy itself. */
  authorisation(): Record<string, string>;
}

/** `masterKey` gives the key in force. */
export function controlPlaneLink(
  {
    controlPlaneUrl,
    controlPlaneTimeoutMs,
    controlPlaneAuthorities: pem,
  }: Pick<Environment, 'controlPlaneUrl' | 'controlPlaneTimeoutMs' | 'controlPlaneAuthorities'>,
  masterKey: () => string | undefined,
): ControlPlaneLink {
  let authorities = pem === undefined ? undefined : authoritiesOf(pem);
  return {
    get authorities() {
      return authorities;
    },
    renewAuthorities(renewed) {
      authorities = authoritiesOf(renewed);
    },
    origin: controlPlaneUrl,
    connectTimeoutMs: controlPlaneConnectMs,
    // Its address is the operator's own setting, and a private one as a rule.
    allowsPrivate: true,
    timeoutMs: controlPlaneTimeoutMs,
    masterKey,
    signAddress(address) {
      const key = masterKey();
      return key === undefined ? undefined : signClientAddress(address, key);
    },
    authorisation() {
      const key = masterKey();
      if (key === undefined) return {};
      // Failed logins of others at the address of this machine are not its own.
      return { authorization: `Bearer ${key}`, [clientAddressHeader]: signClientAddress('proxy', key) };
    },
  };
}
