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
    timeoutMs: controlPlaneTimeoutMs,
    signAddress: (address) => (masterKey === undefined ? undefined : signClientAddress(address, masterKey)),
  };
}
