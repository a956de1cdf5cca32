// How this proxy reaches the control plane, by its settings.
import { signClientAddress } from '../schemas/keys/client-address.ts';
import { controlPlaneConnectMs } from './control-plane-watch.ts';
import type { Environment } from './environment.ts';
import type { ControlPlaneLink } from './gateway.ts';

export function controlPlaneLink({
  controlPlaneUrl,
  controlPlaneTimeoutMs,
  masterKey,
}: Pick<Environment, 'controlPlaneUrl' | 'controlPlaneTimeoutMs' | 'masterKey'>): ControlPlaneLink {
  return {
    origin: controlPlaneUrl,
    connectTimeoutMs: controlPlaneConnectMs,
    // Its address is the operator's own setting, and a private one as a rule.
    allowsPrivate: true,
    timeoutMs: controlPlaneTimeoutMs,
    signAddress: (address) => (masterKey === undefined ? undefined : signClientAddress(address, masterKey)),
  };
}
