// The types of undici's own files.
declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici';
}

declare module 'undici/lib/core/connect.js' {
  export { buildConnector as default } from 'undici';
}

declare module 'undici/lib/core/errors.js' {
  export { errors as default } from 'undici';
}

declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher, Pool } from 'undici';

  const request: (this: Pick<Pool, 'dispatch'>, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>;

  export { request as default };
}

declare module 'undici/lib/api/api-connect.js' {
  import type { Dispatcher, Pool } from 'undici';

  const connect: (
    this: Pick<Pool, 'dispatch'>,
    options: Dispatcher.ConnectOptions,
    callback: (error: Error | null, answer: Dispatcher.ConnectData) => void,
  ) => void;

  export { connect as default };
}
