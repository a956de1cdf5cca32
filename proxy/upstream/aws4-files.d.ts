// The types of aws4, as far as it is used.
declare module 'aws4' {
  interface Request {
    readonly method: string;
    readonly host: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: Buffer;
    readonly region: string;
    readonly service: string;
    readonly extraHeadersToIgnore: Readonly<Record<string, boolean>>;
  }

  interface Credentials {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string | undefined;
  }

  const aws4: {
    readonly sign: (
      request: Request,
      credentials: Credentials,
    ) => { readonly headers: Readonly<Record<string, string | number>> };
  };

  export { aws4 as default };
}
