// Where a proxy tells the control plane a heartbeat that the state store does not take.

export const heartbeatPath = '/admin/heartbeats';
