// The types of undici's own files that tests use.
declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici';
}

declare module 'undici/lib/dispatcher/agent.js' {
  export { Agent as default } from 'undici';
}

declare module 'undici/lib/web/fetch/index.js' {
  import type { fetch } from 'undici';

  const parts: { readonly fetch: typeof fetch };

  export { parts as default };
}
