// What the clients of vaults in clouds need of this machine's identity there. The data plane has it.

export type Cloud = 'aws' | 'google' | 'azure';

/** A request to AWS as it will be sent. */
export interface SignedRequest {
  readonly method: 'POST';
  readonly host: string;
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  readonly region: string;
  readonly service: 'secretsmanager';
}

export interface CloudAccess {
  /** What is sent as `Authorization: Bearer`. Rejects with a `VaultTrouble`. */
  token(cloud: 'google' | 'azure', signal: AbortSignal): Promise<string>;
  /** The headers that sign a request, names and values in turn. Rejects with a `VaultTrouble`. */
  signAws(request: SignedRequest, signal: AbortSignal): Promise<string[]>;
  /** A vault refuses what it was asked with: another credential is asked for. */
  refused(cloud: Cloud): void;
}
