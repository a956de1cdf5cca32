// The part of oidc-provider that tests use; the package brings no types.
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

  export class Provider {
    constructor(issuer: string, configuration: object);
    callback(): RequestListener;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
    readonly Grant: new (
      of: object,
    ) => { addOIDCScope(scope: string): void; save(): Promise<string> };
  }
}
