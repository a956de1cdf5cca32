// Generated from schemas/config and schemas/admin by `npm run generate`; a test compares the two. Do not edit.

/**
 * A model id as the upstream knows it, without blanks around it and without control characters; with a price or facts, a mapping of id, pricing and facts. A fact that is written here wins over that of the catalogue.
 */
export type Model =
  | string
  | {
      /**
       * A model id as the upstream knows it, without blanks around it and without control characters.
       */
      id: string;
      pricing?: Pricing;
      /**
       * The most tokens that a prompt and its answer have together. A prompt that is surely longer goes to another target of the alias, if one is left.
       */
      context_window?: number;
      /**
       * The most tokens that an answer has.
       */
      max_output_tokens?: number;
      /**
       * What the model reads.
       *
       * Items: A kind of content; file: documents such as PDF.
       */
      input_modalities?: ('text' | 'image' | 'audio' | 'video' | 'file' | 'embeddings')[];
      /**
       * What the model answers with.
       *
       * Items: A kind of content; file: documents such as PDF.
       */
      output_modalities?: ('text' | 'image' | 'audio' | 'video' | 'file' | 'embeddings')[];
      /**
       * Whether the model calls tools.
       */
      tools?: boolean;
      /**
       * Whether the model can think before it answers.
       */
      reasoning?: boolean;
      /**
       * The day from which the provider no longer answers for the model. check-config warns from 30 days before.
       */
      deprecation_date?: string;
    };
/**
 * Whether a second target is asked when the first one is slow to begin its answer; the first answer wins, the other call is cancelled. true: when it takes longer than 95 of 100 of its answers did; percentile: another number of 100; after: a fixed time. It needs two targets, and both calls cost: in any ten seconds at most two requests and 5 % of those to aliases that hedge are asked twice (with a percentile of 90, 10 %), within the retry budget.
 */
export type Hedge =
  | boolean
  | {
      /**
       * The second target is asked after this time without a first byte.
       */
      after?: string;
      /**
       * The second target is asked when this many of 100 answers of the first one began sooner.
       */
      percentile?: number;
    };

/**
 * The configuration directory of the gateway: any number of *.yaml files in directories of any names. Entries of providers, aliases, rate_limits, budgets, guardrails and keys may be spread over files; every other key is in one file only. `{}` is the explicit empty configuration.
 */
export interface Config {
  server: Server;
  /**
   * Upstream providers by name. The name is the first part of a selector: <provider>/<model>.
   */
  providers: {
    [k: string]: Provider;
  };
  /**
   * Short model names and their targets. An alias is listed in /v1/models.
   */
  aliases: Alias[];
  admin: Admin;
  rate_limits: RateLimits;
  budgets: Budgets;
  usage: Usage;
  audit: Audit;
  /**
   * What is checked or changed in requests to models and in their answers, in order: each guardrail sees what the one before made of it. They hold for every endpoint, and look at all that a model may read of a request, each text by itself: requests to models, media (words, and fields of forms), and each call of a batch. Where they cannot look, callers for whom one is enforced are refused with 403: passthrough, sessions of the realtime API, and files that are not the input of a batch. Answers are looked at in chat, completions, responses and messages, and in results of batches.
   */
  guardrails: Guardrail[];
  /**
   * Keys of clients, beside those that the admin API issues. The secret never stands in the YAML, only its hash or the path of its file; `model-gateway keys new` prints both. They hold on every proxy and on the control plane within a second; an entry that is removed is revoked everywhere. The admin API lists them (source: config) and cannot change them.
   */
  keys: ConfigKey[];
  /**
   * Identity providers by name. A signed token (JWT) of one of them is let in like a key, in the place of a key: its claims give the user path, the labels, the models and the access to the dashboard. Records and the access log name its caller NAME:SUBJECT. A change is in force within a second, for tokens that were let in before, too.
   */
  identities: {
    [k: string]: Identity;
  };
  cache: Cache;
  rollout?: Rollout;
}
/**
 * Settings of the proxy for its clients.
 */
export interface Server {
  /**
   * Largest request body that is accepted; a larger one is answered 413.
   */
  body_limit: string;
  /**
   * Largest body that is passed on to a provider while it is read, such as that of /p/{provider}/{endpoint}; a larger one is answered 413. It takes no memory, but where the model must be found first: then body_limit holds, too. A client may pause for timeouts.body within it.
   */
  upload_limit: string;
  /**
   * Memory for the bodies of all open requests and the messages of realtime sessions together; a request with a body that does not fit is answered 503, a session with such a message closed (1013). One consumer gets at most half of it. Default: an eighth of the memory limit of the process; never less than body_limit.
   */
  body_budget?: string;
  /**
   * Name of the request header that holds the user path of the consumer, such as /team/app. A path bound to the key always wins over it.
   */
  user_path_header: string;
  /**
   * Name of the request header that may hold the key of the gateway, with Bearer in front or without. A request with it is judged by it alone: Authorization and x-api-key are then the client's own, and only providers with auth: client get them.
   */
  gateway_key_header: string;
  /**
   * The zone of the IANA database in which conditions see hour and weekday. Without it, UTC.
   */
  time_zone?: string;
  /**
   * Whether /p/{provider}/{endpoint} is served, which passes requests on to a provider as they are. If false, it is answered 404.
   */
  enable_passthrough_routes: boolean;
  /**
   * What becomes of a request that names a stored object of a provider, such as a file, of which the gateway does not remember whose it is: made elsewhere, or before it remembered. refuse: it is answered 404, unless the master key asks. allow: it is passed on, for accounts at providers of which every caller may reach all that the gateway does not know; what is known to be another owner's is 404 all the same.
   */
  unknown_objects: 'refuse' | 'allow';
  /**
   * How long open requests and streams may continue after SIGTERM.
   */
  shutdown_grace: string;
  /**
   * Whether open streams end within a second when their key is revoked, deleted or expires. If false, they continue to their end.
   */
  cut_revoked_streams: boolean;
  /**
   * Which requests have a line on standard output, whatever LOG_LEVEL says: failures (a status from 400 on, clients that left, answers that broke off), all, or off. A line is JSON: who asked, for which model, every attempt, status, error, the rule that refused, tokens, times; never a body or a key. Of requests that cannot be read, 100 a second have a line of their own, and so have, with failures, 100 that are refused before a provider is asked, 50 of one consumer.
   */
  access_log: 'off' | 'failures' | 'all';
  /**
   * The most connections of clients at a time; further ones are closed at once. Default: half of the process's limit of open files after a reserve (the other half is for providers), and at most one for each 32 KiB of heap. It never exceeds the limit of open files.
   */
  max_connections?: number;
  /**
   * The most connections at a time from one address; further ones are closed at once. Without it there is no limit, because all clients behind one load balancer have its address.
   */
  max_connections_per_address?: number;
  tls?: ServerTLS;
  /**
   * How long a connection of a client may be idle between two requests. A proxy in front of the gateway should let go of idle connections sooner.
   */
  keep_alive: string;
  /**
   * Addresses and CIDR ranges of proxies in front of the gateway. On their connections the address of the client is the last one in X-Forwarded-For that is not theirs; without X-Forwarded-For, in Forwarded. Each of them must append to the header that it uses, and remove the other one.
   *
   * Items: An IPv4 or IPv6 address, or a CIDR range.
   */
  trusted_proxies: string[];
  cors: CrossOriginAccess;
  /**
   * Which headers tell clients of their limits: openai, the six x-ratelimit-* headers; ietf, RateLimit-Policy and RateLimit. An empty list sends none of them. Retry-After is always sent.
   *
   * Items: A family of headers.
   */
  ratelimit_headers: ('openai' | 'ietf')[];
  stored_responses: StoredResponses;
  realtime: RealtimeSessions;
  timeouts: ServerTimeouts;
}
/**
 * HTTPS on the port of the proxy, and nothing else there. Whether it is there is fixed at a start; files, version and client certificates are in force a moment after they change, without an end of connections.
 */
export interface ServerTLS {
  /**
   * A file with the certificate of the listener and, behind it, those of the authorities between it and a root (PEM). Relative to the working directory. It is read again when it changes; a pair that does not fit or has expired changes nothing.
   */
  certificate_file: string;
  /**
   * A file with the private key of the certificate (PEM, without a password). Relative to the working directory. It is read again when it changes.
   */
  key_file: string;
  /**
   * Clients that speak only older versions are refused. TLS 1.3 is always spoken.
   */
  min_version: '1.2' | '1.3';
  /**
   * How long before the end of the certificate a line of the log says once a day that it ends.
   */
  warn_before: string;
  client_certificates?: ClientCertificates;
}
/**
 * Certificates by which clients identify themselves (mTLS).
 */
export interface ClientCertificates {
  /**
   * A file with the certificates of the authorities that issue certificates for clients (PEM). The authorities of the system are not trusted. It is read again when it changes; connections that the former ones let in end with their request.
   */
  ca_file: string;
  /**
   * A file with lists of revoked certificates (CRL, PEM), one of each authority in ca_file. It is read again when it changes. With a list whose time is over no certificate is accepted.
   */
  crl_file?: string;
  /**
   * request: a client may show a certificate, and one that cannot be verified is answered 401. require: a connection without a certificate that can be verified is closed before any request of it is read, those of health checks and Prometheus too.
   */
  mode: 'request' | 'require';
  /**
   * Lets requests in that show a verified certificate and no key, under this user path, made of the claims of the certificate: sub (its SPIFFE ID, else cn), cn, o, ou, dns, uri, email (lists), serial, fingerprint, issuer. Absent: a certificate only lets a client connect, and a key is needed. A request with a key is the key's.
   */
  user_path?: string;
  /**
   * Labels, as a key has them; each may hold claims. A label that is one claim only, such as `{teams}`, gives a label for each entry of a claim that is a list. With a question mark, `{department?}`, the label is left out for a token without the claim.
   *
   * Items: A text with claims in braces: `{email}`, `{groups[0]}`, `{realm_access.roles[0]}`, `{["https://example.com/team"]}`. A claim must be a text or a whole number that is not empty; a token without it is refused.
   */
  labels?: string[];
  /**
   * The models that the token may use, as `allowed_models` of a key. An entry may hold claims; one that is one claim only gives a model for each entry of a claim that is a list. Absent: every model. A token for which nothing remains is refused.
   *
   * Items: A text with claims in braces: `{email}`, `{groups[0]}`, `{realm_access.roles[0]}`, `{["https://example.com/team"]}`. A claim must be a text or a whole number that is not empty; a token without it is refused.
   */
  allowed_models?: string[];
  /**
   * Other rights for some certificates, as in identities; none of them gives access to the dashboard. A certificate for which nothing gives a user path is refused, unless a key comes with it.
   */
  rights: IdentityRight[];
  deny: DeniedCertificates;
}
/**
 * Rights for the tokens that the condition holds for.
 */
export interface IdentityRight {
  /**
   * A condition in CEL about the claims: `claims.NAME`, with ==, !=, <, <=, >, >=, in, &&, ||, !, size(), startsWith(), endsWith() and contains(). It does not hold where it depends on a claim that the token lacks, or that has another type. Absent: it holds for every token.
   */
  when?: string;
  /**
   * A user path with claims in braces. The value of a claim is one segment: `%`, `/` and `:` in it become %25, %2F and %3A. `{+groups[0]}` takes a value that is itself a path. What is then no valid path is refused, never repaired.
   */
  user_path?: string;
  /**
   * Labels, as a key has them; each may hold claims. A label that is one claim only, such as `{teams}`, gives a label for each entry of a claim that is a list. With a question mark, `{department?}`, the label is left out for a token without the claim.
   *
   * Items: A text with claims in braces: `{email}`, `{groups[0]}`, `{realm_access.roles[0]}`, `{["https://example.com/team"]}`. A claim must be a text or a whole number that is not empty; a token without it is refused.
   */
  labels?: string[];
  /**
   * The models that the token may use, as `allowed_models` of a key. An entry may hold claims; one that is one claim only gives a model for each entry of a claim that is a list. Absent: every model. A token for which nothing remains is refused.
   *
   * Items: A text with claims in braces: `{email}`, `{groups[0]}`, `{realm_access.roles[0]}`, `{["https://example.com/team"]}`. A claim must be a text or a whole number that is not empty; a token without it is refused.
   */
  allowed_models?: string[];
  dashboard?: DashboardRight;
}
/**
 * Access to the admin API and the dashboard.
 */
export interface DashboardRight {
  /**
   * What the operator may do.
   */
  role: 'viewer' | 'operator' | 'admin';
  /**
   * The operator sees and changes this user path and the paths below it; `/` is the whole gateway. Absent: the user path of the token.
   */
  user_path?: string;
}
/**
 * Certificates that are refused before their end, within a second, with a key or without, and on connections that are open.
 */
export interface DeniedCertificates {
  /**
   * SHA-256 of certificates, in hex, with or without colons.
   *
   * Items: 32 bytes in hex.
   */
  fingerprints: string[];
  /**
   * Serial numbers of certificates, in hex, with or without colons. Those of all authorities in ca_file count.
   *
   * Items: A serial number in hex.
   */
  serials: string[];
}
/**
 * Lets web pages of other origins call the gateway from a browser (CORS), with a key. /admin and /metrics are never opened.
 */
export interface CrossOriginAccess {
  /**
   * Origins exactly as a browser sends them, or "*" for all. Without a master key only origins that are named may write.
   *
   * Items: Scheme, host and port, if it is not the default, without a path; or *.
   */
  origins: string[];
}
/**
 * Responses that clients ask to store (store: true) from providers that do not keep them themselves. Each belongs to the user path of its request. When there is too much, the oldest go first.
 */
export interface StoredResponses {
  /**
   * Whether the gateway keeps such responses. If false, they cannot be read or continued later; those that a provider keeps can.
   */
  enabled: boolean;
  /**
   * How long a response is kept, and how long the gateway remembers which provider keeps one; at most 365d. A change holds for later responses.
   */
  ttl: string;
}
/**
 * Sessions over WebSocket at /v1/realtime. A session is one request, and holds its slots until it ends.
 */
export interface RealtimeSessions {
  /**
   * The largest message of a session, in either direction; a larger one closes it (1009).
   */
  frame_limit: string;
  /**
   * How often the client and the provider get a ping. When one of them leaves two pings unanswered, it counts as gone and the session ends.
   */
  ping_interval: string;
  /**
   * How long a session may last; then it is closed (1001), and the client may open another one.
   */
  session_max: string;
  /**
   * How long the client or the provider may take from the first byte of a message to its last; a message that is not complete by then ends the session. Time in which the gateway waits for the other end is not counted.
   */
  message_timeout: string;
  /**
   * The most sessions that one key may have open at a time in a proxy, and all callers of one user path together; a further one is answered 429. Callers without a user path count under their key alone. Rate limit rules with the period concurrent can allow less.
   */
  max_sessions: number;
}
/**
 * Timeouts on the client side.
 */
export interface ServerTimeouts {
  /**
   * Time a client has to send its request headers.
   */
  headers: string;
  /**
   * Time a client has to send its request body. Time that is left of the headers timeout is added.
   */
  body: string;
  /**
   * Time a client may read nothing of its answer before its connection is closed, even if it sends data.
   */
  write_idle: string;
}
/**
 * One named upstream instance.
 */
export interface Provider {
  /**
   * Whose API it is; that says the address, how the key is sent, the paths and the dialects. `openai` with another base_url is any OpenAI-compatible server.
   */
  type:
    | 'openai'
    | 'anthropic'
    | 'gemini'
    | 'azure'
    | 'bedrock'
    | 'vertex'
    | 'openrouter'
    | 'groq'
    | 'xai'
    | 'mistral'
    | 'deepseek'
    | 'together'
    | 'fireworks'
    | 'perplexity'
    | 'cohere'
    | 'cerebras'
    | 'deepinfra'
    | 'ollama'
    | 'vllm';
  /**
   * The address of the API, with its version segment; http or https, no credentials, no fragment. Absent: the address of the type. A query, such as Azure's ?api-version=2024-10-21, is sent with every request. Variables (${VAR}) and references to secrets are filled in here, in the keys, in headers and in proxy_url only.
   */
  base_url: string;
  /**
   * The key sent upstream. Refer to an environment variable, or to a secret in a file or a vault that is read again when it changes; never write the key itself. A provider with a key that expands to an empty text is left out. bedrock: a Bedrock API key, or ACCESS_KEY_ID:SECRET_ACCESS_KEY, which signs requests, with :SESSION_TOKEN behind it when it is temporary; a pair with an empty half counts as empty. vertex: an access token, or an API key where base_url names no project.
   */
  api_key?: string;
  /**
   * A file that holds the key, in place of api_key: at most 16 KiB, a line break at its end does not count. A relative path starts at the working directory of the proxy. The proxy reads the file again when it changes; while it cannot be read, the last key stays in force. A start without the file leaves the provider out until it is there.
   */
  api_key_file?: string;
  /**
   * Several keys in place of one, used in turn: references to variables or secrets, as for api_key. A key that the provider refuses (401) rests for a minute, one that is rate limited (429) for the time that the provider asks for, at most a minute; while all rest, the one that is free soonest is used. Keys that expand to an empty text are left out.
   *
   * Items: A key sent upstream.
   */
  api_keys?: string[];
  /**
   * Files that hold one key each, in place of api_keys, read as for api_key_file.
   *
   * Items: A file that holds a key.
   */
  api_key_files?: string[];
  /**
   * What stands in place of a key. client: each request is sent with the credential of its client, such as the login of a coding agent to its subscription, while the key of the gateway comes in server.gateway_key_header; models is needed beside it, and its models cost nothing where they name no price. The others: the identity that a cloud gives to this machine, renewed by the proxy ahead of time. aws: requests are signed with its credentials. google, azure: its token is sent as Authorization: Bearer. Settings are in the section of the same name. Only without api_key and the like.
   */
  auth?: 'client' | 'aws' | 'google' | 'azure';
  aws?: AWSIdentity;
  google?: GoogleIdentity;
  azure?: AzureIdentity;
  /**
   * What this server speaks, in place of what is known of its type; those that stand first are preferred for clients of another dialect. An OpenAI-compatible server is said to speak chat and embeddings. audio, images, moderations and rerank are the paths of these names below its address.
   *
   * Items: A format of requests and answers.
   */
  dialects?: (
    | 'chat'
    | 'completions'
    | 'responses'
    | 'messages'
    | 'gemini'
    | 'bedrock'
    | 'embeddings'
    | 'realtime'
    | 'audio'
    | 'images'
    | 'moderations'
    | 'rerank'
  )[];
  /**
   * What becomes of a member of a request that this provider does not understand. reject: the request is answered 400. drop: the member is left out and named in the header x-gateway-dropped. Absent: what changes the meaning is rejected, a mere hint is dropped.
   */
  unsupported?: 'reject' | 'drop';
  /**
   * The models of this provider; a request for any other model is answered 404. Without this list the proxy asks the provider for its models; azure, bedrock and vertex need it.
   */
  models?: Model[];
  discovery?: Discovery;
  /**
   * Further request headers sent upstream. Variables (${VAR}) and references to secrets are filled in.
   */
  headers: {
    /**
     * Printable ASCII text.
     */
    [k: string]: string;
  };
  /**
   * Request headers of the client that are sent on to this provider. Credentials, cookies, headers of the connection and of the body, and the gateway's own are refused.
   *
   * Items: A header name is made of letters, digits and hyphens, such as OpenAI-Organization.
   */
  forward_headers?: string[];
  /**
   * Whether the gateway asks this provider for a usage chunk at the end of a stream (stream_options.include_usage). Set false for a provider that refuses it.
   */
  stream_usage: boolean;
  /**
   * Whether what answers of this provider say of its own rate limits (x-ratelimit-*, anthropic-ratelimit-*) steers requests of an alias to its other targets before the provider answers 429. The same holds for its 429s, Retry-After and refusals of our key. Set false for a provider whose figures are wrong.
   */
  learn_limits: boolean;
  /**
   * Whether a model of this provider that fails (5 times in a row, or half of at least 20 calls in 10 s) is asked only when no other target of the alias is left, until a probe succeeds. It never refuses a request.
   */
  circuit_breaker: boolean;
  probe?: ActiveProbe;
  /**
   * Whether keys with allowed_models may send body members that make a provider, itself a gateway, use another model or address: models, fallbacks, route, provider, preset, api_base, api_key, base_url and similar ones. If false, such a request is answered 400. Keys without allowed_models are not affected.
   */
  allow_routing_members: boolean;
  /**
   * Whether base_url may lead to addresses of a private network: RFC 1918, fc00::/7, 100.64.0.0/10 and the like. Addresses of this machine are always allowed; link-local ones and those of cloud metadata never are. What counts is the address that is connected to, after DNS.
   */
  allow_private: boolean;
  /**
   * The HTTP proxy through which this provider is reached by CONNECT: http or https, with credentials if it asks for them. Variables (${VAR}) and references to secrets are filled in; an empty text means no proxy. The variables HTTPS_PROXY and NO_PROXY are not read; refer to them here. The proxy resolves the name of the provider; the address of the proxy itself may be private.
   */
  proxy_url?: string;
  /**
   * A file with certificates of authorities (PEM, at most 1 MiB) that are trusted for this provider and its proxy besides those of the system. A relative path starts at the working directory of the proxy. The proxy reads the file again when it changes, as it does for api_key_file.
   */
  ca_file?: string;
  timeouts: ProviderTimeouts;
}
/**
 * Settings of auth: aws. Absent: the default chain of AWS as it is, which is environment, shared files, web identity, container, instance metadata.
 */
export interface AWSIdentity {
  /**
   * The profile of the shared files of AWS on the machine of the proxy. Absent: as the environment says.
   */
  profile?: string;
  /**
   * The region whose STS is asked. Absent: the one in base_url, else as the environment says, else us-east-1.
   */
  region?: string;
  /**
   * A role that is assumed with the credentials of the chain. Absent: requests are signed with these themselves.
   */
  role_arn?: string;
  /**
   * The external id that the trust policy of the role asks for.
   */
  external_id?: string;
  /**
   * Labels of the caller's key that become tags of the session of the role, so that AWS shows whose cost it is: with team here, the label team:search is sent as the tag team = search. Only with role_arn, whose trust policy must allow sts:TagSession.
   *
   * Items: What stands before the colon in a label; the key of the tag.
   */
  session_tags_from?: string[];
  /**
   * How many sessions with different tags are kept at a time. The one that was used least recently makes room.
   */
  max_sessions: number;
}
/**
 * Settings of auth: google. Absent: the identity of this machine as it is, from the file that GOOGLE_APPLICATION_CREDENTIALS names on the machine of the proxy, else from the metadata server.
 */
export interface GoogleIdentity {
  /**
   * A service account in whose name requests are sent (impersonation). The identity of this machine needs the role Service Account Token Creator for it. Absent: requests are sent in the name of this machine's own identity.
   */
  service_account?: string;
  /**
   * The project whose quota is used and that is billed, sent as x-goog-user-project. Absent: the project of the identity.
   */
  quota_project?: string;
}
/**
 * Settings of auth: azure. Absent: the first of these that the environment of the proxy sets up: AZURE_CLIENT_SECRET, AZURE_CLIENT_CERTIFICATE_PATH, AZURE_FEDERATED_TOKEN_FILE, else the managed identity of this machine.
 */
export interface AzureIdentity {
  /**
   * workload: the token of a Kubernetes service account in the file AZURE_FEDERATED_TOKEN_FILE. managed: the managed identity of a virtual machine or an App Service. client_secret: AZURE_CLIENT_SECRET. client_certificate: the file AZURE_CLIENT_CERTIFICATE_PATH. Absent: as the environment says.
   */
  identity?: 'workload' | 'managed' | 'client_secret' | 'client_certificate';
  /**
   * The id of the application, or of the user-assigned managed identity. Absent: AZURE_CLIENT_ID; a managed identity without it is the system-assigned one.
   */
  client_id?: string;
  /**
   * The id or the domain of the directory. Absent: AZURE_TENANT_ID. Not used by a managed identity.
   */
  tenant_id?: string;
  /**
   * What the token is for: https://cognitiveservices.azure.com/.default for Azure OpenAI, https://ai.azure.com/.default for Foundry; other clouds have addresses of their own.
   */
  scope: string;
}
/**
 * What a model costs: records of usage tell the cost by it, and aliases with the strategy cost compare it. Where something was used that has no price, the cost is unknown.
 */
export interface Pricing {
  /**
   * US dollars per million tokens of the request.
   */
  input_per_mtok?: number;
  /**
   * US dollars per million tokens of the answer. A model that writes none, such as one of embeddings, needs none.
   */
  output_per_mtok?: number;
  /**
   * US dollars per million tokens of the request that the provider read from its cache. Absent: the price of input.
   */
  cached_input_per_mtok?: number;
  /**
   * US dollars per million tokens of the request that the provider wrote to its cache. Absent: the price of input.
   */
  cache_write_per_mtok?: number;
  /**
   * US dollars per million tokens that were written to a cache which keeps them for an hour. Absent: the price of a cache write.
   */
  cache_write_1h_per_mtok?: number;
  /**
   * US dollars per million tokens of sound in the request. Absent: the price of input.
   */
  audio_input_per_mtok?: number;
  /**
   * US dollars per million tokens of sound that the provider read from its cache. Absent: the price of cached input.
   */
  cached_audio_input_per_mtok?: number;
  /**
   * US dollars per million tokens of sound in the answer. Absent: the price of output.
   */
  audio_output_per_mtok?: number;
  /**
   * US dollars per million tokens of thoughts in the answer. Absent: the price of output.
   */
  reasoning_per_mtok?: number;
  /**
   * US dollars for each request, whatever it is.
   */
  per_request?: number;
  /**
   * US dollars for each image that is made.
   */
  per_image?: number;
  /**
   * US dollars for each hour of sound that is transcribed.
   */
  per_hour?: number;
  /**
   * US dollars per million characters that are spoken.
   */
  per_million_characters?: number;
  /**
   * What a request in a batch costs of all these prices, from 0 to 1. Absent: half of them, as providers have it.
   */
  batch_share?: number;
  long_context?: PricesOfLongRequests;
}
/**
 * The prices of tokens where a request has more of them than above_tokens; they replace those of tokens above. A price that is absent here is unknown for such requests.
 */
export interface PricesOfLongRequests {
  /**
   * Tokens of a request, up to which it has the usual price.
   */
  above_tokens: number;
  /**
   * US dollars per million tokens of the request.
   */
  input_per_mtok?: number;
  /**
   * US dollars per million tokens of the answer.
   */
  output_per_mtok?: number;
  /**
   * US dollars per million tokens of the request that the provider read from its cache. Absent: the price of input.
   */
  cached_input_per_mtok?: number;
  /**
   * US dollars per million tokens of the request that the provider wrote to its cache. Absent: the price of input.
   */
  cache_write_per_mtok?: number;
  /**
   * US dollars per million tokens that were written to a cache which keeps them for an hour. Absent: the price of a cache write.
   */
  cache_write_1h_per_mtok?: number;
}
/**
 * Which of the models that the provider lists are used, and how often it is asked. Only without models. Patterns: * stands for any text, letter case counts.
 */
export interface Discovery {
  /**
   * Only models that match one of these patterns are used. Absent: all.
   *
   * Items: A pattern for ids of models; * stands for any text.
   */
  include?: string[];
  /**
   * Models that match one of these patterns are not used.
   *
   * Items: A pattern for ids of models; * stands for any text.
   */
  exclude?: string[];
  /**
   * Time between two questions, at least 100ms; varied by a tenth. A provider that fails is asked again after a minute, or after this time when it is shorter.
   */
  refresh: string;
}
/**
 * A question that the gateway asks by itself again and again, so that the state of the provider is known without requests of clients: one proxy of all that share the state store at a time. Absent: none is asked. A probe that goes well closes a circuit breaker that is open sooner; one that fails counts as one failed call.
 */
export interface ActiveProbe {
  /**
   * Time between two probes, at least 100ms; varied by a tenth.
   */
  interval: string;
  /**
   * A probe without an answer has failed after this time.
   */
  timeout: string;
  /**
   * A chat model of this provider, which is asked for one token: that costs money, and counts under the rules of provider and model. Absent: the provider is asked for its list of models, which costs nothing and counts nowhere, and shows that provider and key work; azure, bedrock and vertex have no such list and need a model.
   */
  model?: string;
}
/**
 * Timeouts on the provider side.
 */
export interface ProviderTimeouts {
  /**
   * Time to open a connection.
   */
  connect: string;
  /**
   * Time from the request to the first byte of the answer.
   */
  first_byte: string;
  /**
   * Time from the request to the end of the first event of a stream; comments are none. Another target of an alias is asked afterwards. Without it: 30s while another target can be asked, and as first_byte says when none is left.
   */
  first_event?: string;
  /**
   * Longest silence within an answer.
   */
  stream_idle: string;
  /**
   * Longest duration of one request, from the first byte sent to the last byte received.
   */
  total: string;
  /**
   * How long the gateway waits for the usage of a stream after its client left; only when the event with the finish_reason was sent.
   */
  usage_drain: string;
}
/**
 * One virtual model.
 */
export interface Alias {
  /**
   * The name that clients ask for. It may be the name of a model, which it then replaces. `<prefix>/*` stands for a family: every model of its targets, as `<prefix>/<model>`.
   */
  source: string;
  /**
   * What it leads to, in order: each entry as `target`.
   */
  targets: AliasTarget[];
  /**
   * Which target a request asks first; the others follow in order. round_robin: by weight. failover: the first one. least_latency: the one with the fastest first byte. cost: the cheapest with a price. session_affinity: always the same one for a conversation, by weight. least_busy: the one with the fewest open requests for its weight. quota: the one whose provider reports the largest share of its own limits as left.
   */
  strategy: 'round_robin' | 'failover' | 'least_latency' | 'cost' | 'session_affinity' | 'least_busy' | 'quota';
  /**
   * Who may use it: these user paths and everything below them. For other user paths the alias does not exist. Absent: all user paths.
   *
   * Items: A user path such as /team/app: no empty text, no colons, no invisible characters.
   */
  user_paths?: string[];
  /**
   * A condition in CEL, as that of a target. For a request for which it is false the alias does not exist: its name leads where it would without it. Aliases that lead to it do not ask for it.
   */
  when?: string;
  /**
   * If false, the alias does not exist for clients: its name leads to the model of that name, if there is one.
   */
  enabled: boolean;
  /**
   * What it is for.
   */
  description?: string;
  retry?: Retries;
  hedge: Hedge;
  /**
   * Whether another target tells the rest of a stream that breaks in the middle, for chat completions, messages and responses. continue: it is asked to go on behind what was said. restart: it is asked anew, and what the client has read already must be the beginning of its answer. Without it such a stream ends with an error event.
   */
  rescue?: 'continue' | 'restart';
  mirror?: Mirror;
}
/**
 * One place an alias may lead to.
 */
export interface AliasTarget {
  /**
   * A selector <provider>/<model>, a bare model id, or another alias; for a family, <provider>/*.
   */
  model: string;
  /**
   * Share of the requests, relative to the other targets; for round_robin, session_affinity and least_busy, and between targets that are equal for quota.
   */
  weight: number;
  /**
   * Targets of the lowest tier are asked first, in the order of the strategy; those of the next tier only when none of them can be used. Without it, 1.
   */
  tier?: number;
  /**
   * A condition in CEL over path, labels, headers["name"], endpoint, stream, tools, images, tokens, hour and weekday: the target is left out of a request for which it is false. See docs/conditions.md.
   */
  when?: string;
}
/**
 * How often a request to this alias may be sent, and after which failures. Without it, as the defaults say.
 */
export interface Retries {
  /**
   * The most calls to providers for one request, the first one included. Without it, as many as the alias has targets, but from 3 to 5. With it, a target that answers 5xx is asked again when no other one is left.
   */
  attempts?: number;
  /**
   * The share of extra calls for this alias alone: in any 10 s at most 10 and this ratio of its requests. Without it, the alias shares the budget of the process, which is 0.2.
   */
  budget?: number;
  /**
   * The failures after which another call is made; by default all but content_filter. Never once a client has got the first byte.
   *
   * Items: A kind of failure: unreachable, no connection to the provider; timeout; rate_limit, 429; server_error, 5xx; invalid_answer, what no client can use; context_length, the request is too long for this model; content_filter, the provider refuses the content; account, it refuses our key, has no money of ours left (402) or forbids what is asked; model_gone. connect, unauthorized and model_unavailable are former words for unreachable, account and model_gone.
   */
  on: (
    | 'unreachable'
    | 'timeout'
    | 'rate_limit'
    | 'server_error'
    | 'invalid_answer'
    | 'context_length'
    | 'content_filter'
    | 'account'
    | 'model_gone'
    | 'connect'
    | 'unauthorized'
    | 'model_unavailable'
  )[];
  /**
   * No further call begins when this time has passed since the request came.
   */
  deadline?: string;
}
/**
 * A model that gets a copy of a share of the requests, once their clients have been answered: what it says goes to no client, and is compared with the answers of the targets. See docs/mirror.md.
 */
export interface Mirror {
  /**
   * One model of a provider: a selector <provider>/<model>, or a bare model id, which means the first provider that lists it. No alias.
   */
  target: string;
  /**
   * The share of the requests to this alias that are copied, at random. 0: none.
   */
  share: number;
}
/**
 * Limits on what operators may store through the admin API, and the listener of the control plane.
 */
export interface Admin {
  tls?: ControlPlaneTLS;
  /**
   * The most managed keys; issuing another one is answered 409. Deactivated and expired keys count until they are deleted.
   */
  max_keys: number;
  /**
   * The most managed keys at and below the user path of a dashboard key; when there are this many, neither this key nor one for a path below can issue another one.
   */
  max_keys_per_scope: number;
  /**
   * The most manual rate limits at and below the user path of a dashboard key; when there are this many, neither this key nor one for a path below can set another one. The same holds once ten times as many were deleted in the last days, because their counters are not forgotten yet.
   */
  max_rules_per_scope: number;
}
/**
 * HTTPS on the port of the control plane, and nothing else there. Whether it is there is fixed at a start; the files are in force a moment after they change. Proxies need an https address in GATEWAY_CONTROL_PLANE_URL, and the authority in GATEWAY_CONTROL_PLANE_CA_FILE when the system does not trust it.
 */
export interface ControlPlaneTLS {
  /**
   * A file with the certificate of the listener and, behind it, those of the authorities between it and a root (PEM). Relative to the working directory. It is read again when it changes; a pair that does not fit or has expired changes nothing.
   */
  certificate_file: string;
  /**
   * A file with the private key of the certificate (PEM, without a password). Relative to the working directory. It is read again when it changes.
   */
  key_file: string;
  /**
   * Clients that speak only older versions are refused. TLS 1.3 is always spoken.
   */
  min_version: '1.2' | '1.3';
  /**
   * How long before the end of the certificate a line of the log says once a day that it ends.
   */
  warn_before: string;
}
/**
 * Caps on requests, tokens and requests in flight, for consumers (user_paths), upstreams (providers) and models.
 */
export interface RateLimits {
  /**
   * Whether the rules below are enforced.
   */
  enabled: boolean;
  /**
   * The most children of one per-child template with separate counters at a time, for each of its periods. Further children share one counter with the same caps until others become idle. The number is lower when counters fill half of the heap.
   */
  max_children: number;
  /**
   * fleet: a cap holds for all proxies on one state store together; each holds some of it in advance, so that few requests wait for the store. replica: each proxy counts for itself, so N proxies admit N times the cap. Budgets are shared in the same way. Without it: fleet with REDIS_URL or several workers, else replica.
   */
  scope?: 'fleet' | 'replica';
  /**
   * What holds under fleet scope while the state store does not answer. share: each proxy admits its part of the cap. closed: nothing is admitted (503). open: each proxy admits the whole cap. The same holds for budgets.
   */
  on_store_loss: 'share' | 'closed' | 'open';
  /**
   * How long a request waits at most for the state store, where this proxy holds nothing of a cap. Behind it the store counts as lost until it answers.
   */
  lease_wait: string;
  /**
   * What an open request sets aside under each token cap that counts it, so that requests at the same time see each other: its prompt as estimated, and for its answer the length that 50 % (p50) or 90 % (p90) of the model's answers to this consumer did not exceed, at most its max_tokens; or its max_tokens (max). What it has used replaces that when it ends. With p50 and p90 a request goes whatever it may take while no other one is open; with max only where it is larger than the whole cap. none: only what has ended counts.
   */
  reserve_tokens: 'none' | 'p50' | 'p90' | 'max';
  /**
   * Rules for consumers. A rule on a path covers the path and everything below it.
   */
  user_paths: UserPathLimits[];
  /**
   * Rules that protect one provider instance.
   */
  providers: ProviderLimits[];
  /**
   * Rules for one model of a provider, or for a bare model id on any provider.
   */
  models: ModelLimits[];
}
/**
 * The limits of one user path.
 */
export interface UserPathLimits {
  /**
   * A slash-separated path; / covers all traffic.
   */
  path: string;
  /**
   * Give every direct child of the path its own counters. Needs the quota_templates entitlement.
   */
  per_child: boolean;
  /**
   * The limits of one subject, one per period.
   */
  limits: Limit[];
}
/**
 * Caps over one period.
 */
export interface Limit {
  /**
   * A named period; concurrent caps the requests in flight.
   */
  period?: 'minute' | 'hour' | 'day' | 'concurrent';
  /**
   * Length of a custom window.
   */
  period_seconds?: number;
  /**
   * Requests allowed in the period, or in flight for concurrent.
   */
  max_requests?: number;
  /**
   * Tokens allowed in the period. Needs usage tracking.
   */
  max_tokens?: number;
  /**
   * What operators call the limit: the listing, the metric gateway_rate_limit_rule_info, the access log and the header x-gateway-rule of a 429 show it. 1 to 64 letters, digits, dots, underscores, hyphens and inner spaces. Several limits may have the same name; a new name keeps the counters.
   */
  name?: string;
  /**
   * enforce refuses requests over the cap; shadow only counts and reports them.
   */
  mode: 'enforce' | 'shadow';
  /**
   * on_store_loss of this limit alone.
   */
  on_store_loss?: 'share' | 'closed' | 'open';
}
/**
 * The limits of one provider.
 */
export interface ProviderLimits {
  /**
   * A name under providers; letter case does not matter.
   */
  name: string;
  /**
   * The limits of one subject, one per period.
   */
  limits: Limit[];
}
/**
 * The limits of one model.
 */
export interface ModelLimits {
  /**
   * A selector <provider>/<model>, or a bare model id for that model on any provider; letter case does not matter.
   */
  model: string;
  /**
   * The limits of one subject, one per period.
   */
  limits: Limit[];
}
/**
 * Caps on what requests cost, for consumers (user_paths) and for the labels of keys. Spend is summed up from usage records, so a budget lags a few seconds behind, and a request that is under way when it is used up is still served.
 */
export interface Budgets {
  /**
   * Whether the budgets below, and those of operators, are enforced.
   */
  enabled: boolean;
  /**
   * What callers that a budget covers may ask of a model without a price, whose cost no budget can count. allow: as much as they like, with a warning when the configuration is loaded and in /admin/budgets. refuse: nothing, but for counts of tokens; it is answered 403 unpriced_model, and an alias leads only to its targets with a price. Budgets in shadow refuse nothing.
   */
  unpriced: 'allow' | 'refuse';
  /**
   * Budgets of consumers. A budget of a path covers the path and everything below it.
   */
  user_paths: UserPathBudget[];
  /**
   * Budgets of all keys that carry a label.
   */
  labels: LabelBudget[];
  settings: BudgetWindows;
}
/**
 * The budgets of one user path.
 */
export interface UserPathBudget {
  /**
   * A slash-separated path; / covers all traffic.
   */
  path: string;
  /**
   * Give every direct child of the path a budget of its own. Needs the quota_templates entitlement.
   */
  per_child: boolean;
  /**
   * The budgets of one subject, one per period.
   */
  limits: BudgetLimit[];
}
/**
 * An amount over one period.
 */
export interface BudgetLimit {
  /**
   * A named period; its windows begin where the settings say.
   */
  period?: 'hourly' | 'daily' | 'weekly' | 'monthly';
  /**
   * Length of a custom window. Windows begin at whole multiples of it since 1970. 3600, 86400 and 604800 are the named periods, and 2592000 stands for a calendar month.
   */
  period_seconds?: number;
  /**
   * US dollars that may be spent in a window, from 0.000000001 to 9000000.
   */
  amount: number;
  /**
   * enforce admits a call while money is left, and an open call counts with what it is known to cost. hard sets the estimate of the whole call aside before it is made, the prompt and as much as the answer may take (max_tokens, else what it will probably take), refuses a call for which the rest does not suffice, and gives back what was not spent. shadow only reports.
   */
  mode: 'enforce' | 'hard' | 'shadow';
}
/**
 * The budgets of one label.
 */
export interface LabelBudget {
  /**
   * A label of keys, compared as it is written.
   */
  label: string;
  /**
   * The budgets of one subject, one per period.
   */
  limits: BudgetLimit[];
}
/**
 * When the windows of the named periods begin, in UTC. Operators may change them with PUT /admin/budgets/settings.
 */
export interface BudgetWindows {
  /**
   * Hour of the day, UTC.
   */
  daily_reset_hour: number;
  /**
   * Minute of the hour.
   */
  daily_reset_minute: number;
  /**
   * The first day of a week: 0 is Sunday, 1 Monday, 6 Saturday.
   */
  weekly_reset_weekday: number;
  /**
   * Hour of the day, UTC.
   */
  weekly_reset_hour: number;
  /**
   * Minute of the hour.
   */
  weekly_reset_minute: number;
  /**
   * The first day of a month's window; in a shorter month its last day.
   */
  monthly_reset_day: number;
  /**
   * Hour of the day, UTC.
   */
  monthly_reset_hour: number;
  /**
   * Minute of the hour.
   */
  monthly_reset_minute: number;
}
/**
 * How long records of usage are kept, and by which prices their cost is told.
 */
export interface Usage {
  /**
   * How long records of usage are kept; at most 365d. Those that a budget still counts are kept until its window ends.
   */
  retention: string;
  /**
   * Whether models without a price of their own have the public list price that comes with the gateway (domain/prices/list-prices.json: its date and source stand there): in US dollars, of the standard service tier, without fees for tools of the provider. Only for providers at the address of their type; azure: at global deployments whose name is that of their model; bedrock: in us-east-1 and us-west-2.
   */
  list_prices: boolean;
  /**
   * Prices of models by type of provider and id, for all providers of the type. They replace list prices; the pricing of a model in providers replaces them.
   */
  prices: {
    /**
     * By id of the model.
     */
    [k: string]: {
      [k: string]: Pricing;
    };
  };
}
/**
 * The audit log: an entry for each model request, found by thread, user path, model, status and more. Usage records are made whatever it says.
 */
export interface Audit {
  /**
   * Whether model requests and writes of the admin API have entries. If false, only usage is recorded.
   */
  enabled: boolean;
  /**
   * Whether entries hold the bodies of requests and answers, streams as the equivalent JSON. They may hold personal data; known forms of keys in them are replaced, and what guardrails mask or take out is not in them.
   */
  bodies: boolean;
  /**
   * Whether bodies are recorded as clients send and get them, also where a guardrail refuses or changes them: with what it masks. If false, entries hold what guardrails let through, placeholders in the place of what was masked, and no body of a request that one refuses.
   */
  original_bodies: boolean;
  /**
   * A longer body of a request is left out, and of a longer answer the beginning is kept; the entry says so. At most 1MiB.
   */
  body_limit: string;
  /**
   * Whether entries hold the headers of requests and answers. The values of headers that carry secrets are replaced.
   */
  headers: boolean;
  /**
   * Which share of the requests that went well have entries, from 0 to 1. All others have one, but for floods: of refused requests 100 a second, of those without a valid key one a second.
   */
  sample: number;
  /**
   * Requests of these user paths, and of all below them, have no entries. Their usage is recorded.
   *
   * Items: A user path; it holds for all below it.
   */
  without: string[];
  /**
   * How long entries are kept; at most 365d.
   */
  retention: string;
  /**
   * How much of its disk records.sqlite may take, usage records too. Beyond it the oldest bodies are removed, then the oldest entries; usage stays. However much it is, 256 MiB of the disk (on a small one a tenth) are left to rules, keys and counters. PostgreSQL is not bounded.
   */
  max_size: string;
}
/**
 * One guardrail: its name, exactly one block that says what it does, and whom it is for.
 */
export interface Guardrail {
  /**
   * What refusals, records and metrics call it: 1 to 64 letters, digits, dots, underscores or hyphens. No two have the same.
   */
  name: string;
  /**
   * The callers it is for: these user paths and all below them. Absent: all callers.
   *
   * Items: A user path; it holds for all below it.
   */
  user_paths?: string[];
  /**
   * The models it is for: aliases, bare ids or selectors. It holds for requests that name one of them, and for those that may be sent to one. Absent: all.
   *
   * Items: A model name without control characters or surrounding blanks.
   */
  models?: string[];
  /**
   * Whether it looks at requests (input), at answers (output), or at both. Absent: system_prompt and limits: input; schema: output; all others: input, and pii with action mask also puts back on output what it masked.
   *
   * Items: input: the request; output: the answer.
   */
  on?: ('input' | 'output')[];
  /**
   * Whose words of a request it looks at. Absent: all of them, because a model reads all. Members that the gateway does not know count as words of the user, and what describes tools and the form of answers as words of the system.
   *
   * Items: system: system and developer prompts; user; assistant: former answers with their tool calls; tool: results of tools.
   */
  roles?: ('system' | 'user' | 'assistant' | 'tool')[];
  /**
   * shadow changes and refuses nothing; its verdicts are counted and recorded.
   */
  mode: 'enforce' | 'shadow';
  /**
   * A lower number comes first; equal ones in the order of the files.
   */
  order: number;
  system_prompt?: SystemPrompt;
  regex?: RegularExpressions;
  keywords?: Keywords;
  pii?: PersonalData;
  schema?: FormOfAnswers;
  limits?: LimitsOfARequest;
  webhook?: Webhook;
  llm?: JudgingModel;
}
/**
 * Puts words into the system prompt of requests.
 */
export interface SystemPrompt {
  /**
   * prepend: before the client's own; append: behind it; replace: in its place. Without one of the client's it is the system prompt.
   */
  mode: 'prepend' | 'append' | 'replace';
  /**
   * The words.
   */
  text: string;
}
/**
 * Looks for patterns.
 */
export interface RegularExpressions {
  /**
   * Regular expressions in the syntax of RE2: their time is linear in the text, so there are no lookarounds and no backreferences. (?i) ignores case. Together they make at most 20,000 instructions, of at most 65,536 characters and 50 classes of Unicode such as \pL.
   *
   * Items: A regular expression in the syntax of RE2.
   */
  patterns: string[];
  /**
   * block refuses the request, or ends the answer; redact puts the replacement in the place of what was found; flag only records it.
   */
  action: 'block' | 'redact' | 'flag';
  /**
   * What redact puts in the place of what was found.
   */
  replacement: string;
  /**
   * Characters that something found may span; a longer one is taken in pieces. So much of a streamed answer is held back at most, and only while it may be the beginning of something.
   */
  window: number;
}
/**
 * Looks for words, in any case. Its time does not depend on how many there are.
 */
export interface Keywords {
  /**
   * Words or phrases; each blank of a phrase is one blank.
   *
   * Items: A word or phrase.
   */
  words: string[];
  /**
   * Whether letters, digits and underscores beside it make it another word.
   */
  whole_words: boolean;
  /**
   * block refuses the request, or ends the answer; redact puts the replacement in the place of what was found; flag only records it.
   */
  action: 'block' | 'redact' | 'flag';
  /**
   * What redact puts in the place of what was found.
   */
  replacement: string;
}
/**
 * Looks for personal data and keys by their forms.
 */
export interface PersonalData {
  /**
   * What is looked for: email; phone: numbers that begin with + or are written (NPA) NXX-XXXX; card: 13 to 19 digits with a valid checksum (Luhn); iban: with a valid checksum (ISO 7064); key: forms of API keys and tokens.
   *
   * Items: A kind of personal data.
   */
  kinds: ('email' | 'phone' | 'card' | 'iban' | 'key')[];
  /**
   * mask puts a placeholder such as [EMAIL_1] in its place, the same for the same value of a request, and the value back where the answer has the placeholder; redact puts the replacement there and never the value back; block refuses; flag only records it. On output mask is redact with [EMAIL].
   */
  action: 'mask' | 'redact' | 'block' | 'flag';
  /**
   * What redact puts in the place of what was found.
   */
  replacement: string;
}
/**
 * The words of an answer must be JSON of a form. Answers that call tools and say nothing are not looked at. A streamed answer is held back to its end.
 */
export interface FormOfAnswers {
  /**
   * A JSON Schema (2020-12), complete in itself: no reference leads out of it. Its patterns have the syntax of RE2. It has at most 1,000 objects, 64 levels and 100 patterns.
   */
  schema: {
    [k: string]: unknown;
  };
  /**
   * block ends the answer; flag only records it.
   */
  action: 'block' | 'flag';
}
/**
 * How large a request may be, and what it may ask for.
 */
export interface LimitsOfARequest {
  /**
   * Characters of all that a model may read of a request together, whatever their role, with what describes tools.
   */
  max_prompt_characters?: number;
  /**
   * How many tools a request may offer to the model.
   */
  max_tools?: number;
  /**
   * The names of the tools that a request may offer. A provider's own tool is known by its type, such as mcp or web_search, in chat also as web_search_options, and in Messages by its name.
   *
   * Items: A name, compared as it is written.
   */
  allowed_tools?: string[];
  /**
   * The cap of what a request may ask for by max_tokens, max_completion_tokens or max_output_tokens.
   */
  max_tokens?: number;
  /**
   * cap lowers what the request asks for to max_tokens, and says it where the request does not; budgets of thoughts are lowered below it, or left out and named in x-gateway-dropped; block refuses a request that asks for more.
   */
  when_above: 'cap' | 'block';
}
/**
 * Asks a service of yours for the verdict.
 */
export interface Webhook {
  /**
   * Where it is asked; http or https, no credentials, no fragment. Variables (${VAR}) and references to secrets are filled in.
   */
  url: string;
  /**
   * How long a verdict may take. Milliseconds.
   */
  timeout_ms: number;
  /**
   * What becomes of a request when there is no verdict, or not in time. closed: it is refused (503 guardrail_unavailable), or its stream ends; open: it goes on. Both are counted and recorded.
   */
  fail: 'open' | 'closed';
  /**
   * Signs each question: its header x-gateway-signature is sha256= and the HMAC-SHA256 of the body in hexadecimal digits. Variables (${VAR}) and references to secrets are filled in.
   */
  secret?: string;
  /**
   * How many questions of one proxy may be open. Beyond, none waits: it fails at once.
   */
  max_concurrent: number;
  /**
   * Whether its addresses may be of a private network. Those of this machine may always be.
   */
  allow_private: boolean;
  /**
   * Further headers of the question. Variables (${VAR}) and references to secrets are filled in.
   */
  headers: {
    /**
     * Printable ASCII text.
     */
    [k: string]: string;
  };
  /**
   * Characters of a streamed answer that are asked about together; each is told to the client when it has passed.
   */
  window: number;
}
/**
 * Asks a configured model for the verdict, or to write the words anew.
 */
export interface JudgingModel {
  /**
   * The model that is asked: an alias, a bare id or a selector.
   */
  model: string;
  /**
   * What the model is told about its task.
   */
  prompt: string;
  /**
   * judge: the model says whether the words pass; rewrite: what it says takes the place of the words.
   */
  action: 'judge' | 'rewrite';
  /**
   * How long an answer may take. Milliseconds.
   */
  timeout_ms: number;
  /**
   * What becomes of a request when there is no verdict, or not in time. closed: it is refused (503 guardrail_unavailable), or its stream ends; open: it goes on. Both are counted and recorded.
   */
  fail: 'open' | 'closed';
  /**
   * Characters of a streamed answer that are asked about together; each is told to the client when it has passed.
   */
  window: number;
}
/**
 * One key: its name, the digest of its secret, and its rights, as a key of the admin API has them.
 */
export interface ConfigKey {
  /**
   * 1 to 64 letters, digits, dots, underscores or hyphens. No two have the same. Records and the admin API call the key config:NAME, so another name is another key.
   */
  name: string;
  /**
   * SHA-256 of the whole secret in hex. Never the secret itself.
   */
  hash?: string;
  /**
   * A file whose content is the secret, at least 32 characters, instead of its hash: for secrets that something mounts, such as Kubernetes. Each proxy and the control plane reads it, and again when it changes; a line break at its end does not count. A relative path begins at the working directory. While it was never readable, the key is refused.
   */
  value_file?: string;
  /**
   * What the key is for.
   */
  description?: string;
  /**
   * The user path of the key; it always wins over the header of a request. Absent: the root, unless any_user_path.
   */
  user_path?: string;
  /**
   * Whether each request may name any user path in a header: for clients that serve several users and are trusted to name them. Not together with user_path.
   */
  any_user_path: boolean;
  /**
   * Labels to sort keys by; a label may have a budget.
   *
   * Items: A label: no blanks at its ends, no invisible characters.
   */
  labels?: string[];
  /**
   * The models that the key may use: `*`, `provider/*`, `provider/model`, bare model ids and names of aliases; letter case does not matter. Absent or empty: every model.
   *
   * Items: `*`, `provider/*`, `provider/model`, a bare model id or the name of an alias.
   */
  allowed_models?: string[];
  /**
   * Whether the key may use the admin API and the dashboard, within its user path.
   */
  dashboard_access: boolean;
  /**
   * What the key may do on the admin API, within its user path: a viewer reads, an operator also changes limits, resets and takes targets out, an admin also writes keys, aliases and guardrails. Only with dashboard_access: true; absent there: admin.
   */
  role?: 'viewer' | 'operator' | 'admin';
  /**
   * From this moment on the key is refused: RFC 3339. Absent: it has no end.
   */
  expires_at?: string;
  /**
   * false refuses the key.
   */
  enabled: boolean;
}
/**
 * One identity provider, and what its tokens may do.
 */
export interface Identity {
  /**
   * The issuer, letter for letter as in the claim iss. Its address is https, or http on this machine. Without jwks_uri its metadata (ISSUER/.well-known/openid-configuration) name the address of its keys, and must name this issuer.
   */
  issuer: string;
  /**
   * Where the issuer publishes its public keys (JWKS). Absent: its metadata say it.
   */
  jwks_uri?: string;
  /**
   * Whether these addresses may be in a private network. Link-local addresses and the metadata of a cloud are never connected to.
   */
  allow_private: boolean;
  /**
   * The claim aud must hold this value, or one of these.
   */
  audience: string | string[];
  /**
   * The algorithms of signatures that are accepted. All are asymmetric: a token that is signed with a shared secret, or not at all, is refused.
   *
   * Items: The alg of a token.
   */
  algorithms: (
    'RS256' | 'RS384' | 'RS512' | 'PS256' | 'PS384' | 'PS512' | 'ES256' | 'ES384' | 'ES512' | 'EdDSA' | 'Ed25519'
  )[];
  /**
   * How far the clocks of the issuer and of the gateway may differ, for exp and nbf; at most 5m.
   */
  clock_skew: string;
  /**
   * Claims that a token must have, with their value; of a list, one of its entries. A list here means one of its values.
   */
  required_claims?: {
    /**
     * The value of the claim, or a list of possible values.
     */
    [k: string]: string | number | boolean | (string | number | boolean)[];
  };
  /**
   * A user path with claims in braces. The value of a claim is one segment: `%`, `/` and `:` in it become %25, %2F and %3A. `{+groups[0]}` takes a value that is itself a path. What is then no valid path is refused, never repaired.
   */
  user_path: string;
  /**
   * Labels, as a key has them; each may hold claims. A label that is one claim only, such as `{teams}`, gives a label for each entry of a claim that is a list. With a question mark, `{department?}`, the label is left out for a token without the claim.
   *
   * Items: A text with claims in braces: `{email}`, `{groups[0]}`, `{realm_access.roles[0]}`, `{["https://example.com/team"]}`. A claim must be a text or a whole number that is not empty; a token without it is refused.
   */
  labels?: string[];
  /**
   * The models that the token may use, as `allowed_models` of a key. An entry may hold claims; one that is one claim only gives a model for each entry of a claim that is a list. Absent: every model. A token for which nothing remains is refused.
   *
   * Items: A text with claims in braces: `{email}`, `{groups[0]}`, `{realm_access.roles[0]}`, `{["https://example.com/team"]}`. A claim must be a text or a whole number that is not empty; a token without it is refused.
   */
  allowed_models?: string[];
  /**
   * Other rights for some tokens. Of user_path, labels, allowed_models and dashboard, each is taken from the first entry that holds for the token and has it; where none has it, from beside this list. There is no access to the dashboard unless an entry gives it.
   */
  rights: IdentityRight[];
  deny: DeniedTokens;
  /**
   * How long the keys of the issuer hold after they were last fetched, while it does not answer. They are kept in a file over restarts.
   */
  keys_kept_for: string;
  sign_in?: SignInSettings;
}
/**
 * Tokens that are refused before their end, within a second, with their open sessions.
 */
export interface DeniedTokens {
  /**
   * Values of the claim sub.
   *
   * Items: A value of the claim sub.
   */
  subjects: string[];
  /**
   * Values of the claim jti: single tokens.
   *
   * Items: A value of the claim jti.
   */
  jti: string[];
}
/**
 * People sign in to the dashboard at the identity provider (OpenID Connect, authorization code with PKCE). Their claims are checked and give rights as those of a token do: who gets no `dashboard` gets no session. Register PUBLIC_URL/admin/sign-in/NAME/callback as the redirect URI of the client, and PUBLIC_URL/admin/dashboard as the address after signing out. Keys, the master key among them, log in as before.
 */
export interface SignInSettings {
  /**
   * The id of the gateway at the identity provider; the audience of its ID tokens.
   */
  client_id: string;
  /**
   * The variable with the secret of the client, which the control plane alone reads: it stands in no file, and proxies do not need it. Absent, and without client_secret_file: a public client, which PKCE alone protects.
   */
  client_secret?: string;
  /**
   * The path of a file with the secret of the client on the machine of the control plane; it is read at each sign-in.
   */
  client_secret_file?: string;
  /**
   * Where browsers reach the gateway: the origin of a proxy, of the load balancer before it, or of the control plane. No header of a request is trusted for it. https, or http on this machine.
   */
  public_url: string;
  /**
   * What is asked for; openid must be among them. A provider that gives groups by a scope needs it here.
   *
   * Items: A scope of OAuth 2.0.
   */
  scopes: string[];
  /**
   * Whether the userinfo endpoint is asked for claims that are not in the ID token.
   */
  user_info: boolean;
  /**
   * What the login page calls the provider: Sign in with TITLE. Absent: the name of the identity.
   */
  title?: string;
  /**
   * How long a session lasts; at most 12h. It ends before where the identity, its rights or its claims are changed here, or the person is denied.
   */
  lasts: string;
}
/**
 * The response cache: an equal request gets the answer of an earlier one, without asking a provider. Such an answer counts against no limit and no budget. A change holds at once.
 */
export interface Cache {
  /**
   * Whether answers are kept and served again.
   */
  enabled: boolean;
  /**
   * How old an answer may be that is served again; at most 365d. A change holds for later answers.
   */
  ttl: string;
  /**
   * What all kept answers may take: of the memory of each proxy, or of Redis. When there is too much, those go first that were not asked for the longest; in Redis, the oldest.
   */
  max_bytes: string;
  /**
   * A longer answer is not kept. At most 8MiB, and at most max_bytes.
   */
  max_entry_bytes: string;
  /**
   * Who gets an answer that was kept. user_path: requests of exactly the same user path; of a key without a path, requests with that key. key: requests with the same key and the same user path. gateway: every request that may use the model; only for callers who may read each other's answers.
   */
  scope: 'gateway' | 'user_path' | 'key';
  /**
   * Whose answers are kept: of /v1/chat/completions, /v1/completions, /v1/responses (only with store: false), /v1/messages, /v1/embeddings.
   *
   * Items: The path of an endpoint. The short names of earlier versions mean the same.
   */
  endpoints: (
    | '/v1/chat/completions'
    | '/v1/completions'
    | '/v1/responses'
    | '/v1/messages'
    | '/v1/embeddings'
    | 'chat'
    | 'completions'
    | 'responses'
    | 'messages'
    | 'embeddings'
  )[];
  /**
   * Whether only requests are cached that say temperature: 0 or a seed, and embeddings. If false, a request that would be answered in other words each time gets the same words again.
   */
  only_deterministic: boolean;
  /**
   * Whether a request waits for the answer to an equal one that is under way, instead of asking the provider too. Such an answer counts as one of the cache; a stream comes when it is complete.
   */
  share_concurrent: boolean;
  /**
   * How long the client of a shared call may leave unread what is there for it, in all. After that, one of those that wait asks the provider for the others.
   */
  share_patience: string;
  /**
   * Where answers lie. memory: in each proxy for itself. redis: in the server of REDIS_URL, for all proxies. Absent: redis where there is a REDIS_URL, else memory.
   */
  engine?: 'memory' | 'redis';
  semantic?: SemanticLayer;
  /**
   * Answers to these user paths, and to all below them, are neither kept nor taken from the cache.
   *
   * Items: A user path; it holds for all below it.
   */
  without: string[];
}
/**
 * Serves the answer to an earlier request that means the same, for chat, responses and messages: it is asked where no equal request is kept. The last text of the user is compared by its embedding; everything else of the request must be equal. Absent: there is no such layer.
 */
export interface SemanticLayer {
  /**
   * The model that is asked for embeddings: an alias, a bare id or a selector. Rules of its provider and model count each question, those of user paths do not; its usage is the caller's, at the user path <path of the caller>/cache/semantic.
   */
  model: string;
  /**
   * How similar two texts must be at least: the cosine of their embeddings. What is a good value depends on the model.
   */
  threshold: number;
  /**
   * Conversations of more messages are left to the exact layer. Messages of the system do not count.
   */
  max_turns: number;
  /**
   * If false, a request may get the answer to one with another system prompt.
   */
  with_system: boolean;
  /**
   * Where embeddings lie. embedded: in the memory of each proxy, with sqlite-vec. postgres: in the database of DATABASE_URL, for all proxies; its server needs the extension pgvector. redis: in the Redis of REDIS_URL, for all proxies; it must be version 8 or newer.
   */
  engine: 'embedded' | 'postgres' | 'redis';
  /**
   * How long a request waits for its embedding and for the nearest one; then it goes on without. Milliseconds.
   */
  timeout_ms: number;
  /**
   * How many embeddings are kept; those that end first go. One of 1536 numbers takes 6 KiB.
   */
  max_entries: number;
}
/**
 * How the next revision of the configuration gets in force: on some proxies first, on all others when it has done well there for a while. The rollout of the revision in force decides. Absent: a revision is in force everywhere at once. It needs the control plane, and several proxies. See docs/rollout.md.
 */
export interface Rollout {
  /**
   * How many live proxies take a revision first: a number, or a share from 1% to 99%, rounded down, at least one. At least one proxy stays with the revision before.
   */
  proxies: number | string;
  /**
   * After this time without an abort, all proxies take the revision, also when there was hardly any traffic.
   */
  for: string;
  abort_if: AbortConditions;
}
/**
 * Limits for the proxies that go first, all their model requests since they have the revision taken together. Beyond one of them they go back to the revision before. So they do when one of them rejects the revision, falls silent, or restarts twice.
 */
export interface AbortConditions {
  /**
   * The share of requests that end with a status of 500 and more. 100%: it never aborts.
   */
  error_share: string;
  /**
   * The share of requests that the gateway itself refuses with 429 or 403: rate limits, budgets, models that a key may not use. Absent: it never aborts.
   */
  refusals?: string;
  /**
   * The time that 95 of 100 answers need to their first byte, from the first byte of the request; estimated from a histogram. Absent: it never aborts.
   */
  p95?: string;
  /**
   * With fewer requests the three limits say nothing.
   */
  min_requests: number;
}
/**
 * A *.cel.yaml file in the configuration directory: rules about the configuration itself, which `model-gateway check` asks. Gateways do not read it.
 */
export interface PolicyFile {
  /**
   * The rules, each asked of every entry of its kind.
   */
  policies: Policy[];
}
/**
 * One rule about the configuration.
 */
export interface Policy {
  /**
   * How messages call it: 1 to 64 letters, digits, dots, underscores or hyphens. No two policies of a directory have the same.
   */
  name: string;
  /**
   * Of which entries it is asked: each provider, model of a provider, alias, rate-limit rule, budget, guardrail, key or identity provider; each user path that has rules, budgets or keys; config: once, of the settings of the whole gateway. In expressions the entry has this name.
   */
  for: 'provider' | 'model' | 'alias' | 'rule' | 'budget' | 'guardrail' | 'key' | 'identity' | 'user_path' | 'config';
  /**
   * Only entries for which this is true are asked. Absent: all of them.
   */
  where?: string;
  /**
   * What must be true of the entry.
   */
  expect: string;
  /**
   * What to tell the person whose change breaks it, and what to do. An expression in two braces is filled in.
   */
  message: string;
  /**
   * error: `check` ends with 1. warning: only with --strict.
   */
  severity: 'error' | 'warning';
  /**
   * Entries that may break it, each with a reason.
   */
  except: Exception[];
}
/**
 * An entry that may break a policy.
 */
export interface Exception {
  /**
   * Its title: the name of a provider, key, guardrail or identity provider, the source of an alias, provider/model, a user path, or for rules and budgets scope, subject and period.
   */
  entry: string;
  /**
   * Why it may.
   */
  reason: string;
  /**
   * The last day on which it may, YYYY-MM-DD. Absent: it may for ever.
   */
  until?: string;
}
/**
 * A file of tests of the configuration: `*.test.yaml` in its directory.
 */
export interface ConfigTests {
  /**
   * The tests of this file, each in a world of its own.
   */
  tests: ConfigTest[];
}
/**
 * A request, and what must become of it.
 */
export interface ConfigTest {
  /**
   * A sentence for people; two tests of a file have two names.
   */
  name: string;
  given: Given;
  expect: Expected;
}
/**
 * The request, and what came before it.
 */
export interface Given {
  /**
   * The model or alias that is asked for.
   */
  model: string;
  /**
   * When it comes: RFC 3339. Default: 2026-01-01T12:00:00Z, a Thursday.
   */
  time?: string;
  /**
   * Who asks, as a header names it; a key with a path has its own. Default: /.
   */
  user_path?: string;
  /**
   * The name of a key that the configuration declares: path, labels and models are those of the key.
   */
  key?: string;
  /**
   * Of the key, where no key is named.
   */
  labels?: string[];
  /**
   * Of a token of an identity provider, whose signature is right: rights follow from them.
   */
  claims?: {
    [k: string]: unknown;
  };
  /**
   * The identity of the configuration that the claims belong to. Default: the one with the issuer in `iss`, or the only one.
   */
  identity?: string;
  /**
   * Where it is sent. Default: an endpoint that all targets have.
   */
  endpoint?: string;
  /**
   * It asks for a stream.
   */
  stream: boolean;
  tokens?: Tokens;
  /**
   * How many tools it offers. Default: 0.
   */
  tools?: number;
  /**
   * It holds an image.
   */
  images: boolean;
  /**
   * Its headers, for conditions. Those that are not named were not sent.
   */
  headers?: {
    [k: string]: string;
  };
  /**
   * The conversation it belongs to, for session affinity.
   */
  session?: string;
  /**
   * What the user says, for guardrails. Without it no guardrail looks.
   */
  text?: string;
  /**
   * Providers, or `<provider>/<model>`, that are out: an operator has drained them.
   */
  down?: string[];
  /**
   * What rules and budgets had counted when the request came.
   */
  used_before?: UsedBefore[];
}
/**
 * What the request takes, in tokens: at least one of input, output and cached.
 */
export interface Tokens {
  /**
   * Of the prompt, those of the cache of the provider included.
   */
  input?: number;
  /**
   * Of the answer.
   */
  output?: number;
  /**
   * Of the prompt, those that the provider had in its cache.
   */
  cached?: number;
}
/**
 * What rules and budgets had counted when the request came. Without `rule` and `budget`: requests of the same caller for the same model, as all its rules and budgets count them.
 */
export interface UsedBefore {
  /**
   * Requests that were admitted.
   */
  requests?: number;
  /**
   * Tokens of all of them together.
   */
  tokens?: number;
  /**
   * Requests that are still open.
   */
  in_flight?: number;
  /**
   * US dollars, in the present window of the budgets.
   */
  spent?: number;
  /**
   * They came evenly in so long a time. Default: all at one moment.
   */
  over?: string;
  /**
   * The last of them came so long before the request. Default: just before it.
   */
  ago?: string;
  /**
   * Only this rule has counted them: its name, its id, or what it is, such as `user_path /team-a minute`.
   */
  rule?: string;
  /**
   * Only this budget has counted them: its id, or what it is, such as `user_path /team-a monthly`.
   */
  budget?: string;
  /**
   * They were requests of this user path.
   */
  user_path?: string;
}
/**
 * What must become of it: at least one of admitted, refused, targets, alias, guardrail and price. All that is named must hold.
 */
export interface Expected {
  /**
   * It is sent to a target; false: it is refused.
   */
  admitted?: boolean;
  refused?: Refused;
  /**
   * The targets, `<provider>/<model>`, in the order in which they would be asked: all of them.
   */
  targets?: string[];
  /**
   * The alias that the name means.
   */
  alias?: string;
  guardrail?: GuardrailVerdict;
  /**
   * US dollars of the given tokens at the first target.
   */
  price?: number;
}
/**
 * The answer that the client gets: at least one of by, code, status and retry_after.
 */
export interface Refused {
  /**
   * What refuses: a rule or budget by name, by id, or by what it is, such as `user_path /team-a minute`; a guardrail by its name.
   */
  by?: string;
  /**
   * The error code.
   */
  code?: string;
  /**
   * The HTTP status.
   */
  status?: number;
  /**
   * The wait that the answer names.
   */
  retry_after?: string;
}
/**
 * What a guardrail says of the text.
 */
export interface GuardrailVerdict {
  /**
   * Its name.
   */
  name: string;
  /**
   * `none`: it does not look at the request.
   */
  verdict: 'pass' | 'revise' | 'flag' | 'block' | 'none';
  /**
   * The category that it names.
   */
  reason?: string;
}
/**
 * The body of PUT /admin/rate-limits: the complete rule. It replaces another manual rule, with its caps. When the configuration declares the same rule, absent caps and an absent per_child are taken from there.
 */
export interface RateLimitWrite {
  /**
   * The kind of the subject; user_path when absent.
   */
  scope?: 'user_path' | 'provider' | 'model';
  /**
   * The path, the name of a provider, or a model: <provider>/<model> or a bare id. Letter case does not matter.
   */
  subject?: string;
  /**
   * The path of a user-path rule without colons and control characters, instead of scope and subject. Where both are given they must mean the same path.
   */
  user_path?: string;
  /**
   * The period of the rule: exactly one of the two.
   */
  limit_key?: {
    /**
     * A named period; concurrent caps the requests in flight.
     */
    period?: 'minute' | 'hour' | 'day' | 'concurrent';
    /**
     * Length of a custom window in seconds, from 1 to 2147483647; 60 is the same as minute.
     */
    period_seconds?: number;
  };
  /**
   * A named period; concurrent caps the requests in flight. Beside the subject, instead of limit_key.
   */
  period?: 'minute' | 'hour' | 'day' | 'concurrent';
  /**
   * Length of a custom window in seconds, from 1 to 2147483647; 60 is the same as minute. Beside the subject, instead of limit_key.
   */
  period_seconds?: number;
  /**
   * Give every direct child of the path its own counters. Needs the entitlement quota_templates. Absent: as in the configuration when it declares the same rule, otherwise false.
   */
  per_child?: boolean;
  /**
   * Cap on requests in the window, or in flight, from 1 to 9007199254740991; 0 blocks until the rule ends; null removes the cap that the configuration declares.
   */
  max_requests?: number | null;
  /**
   * Cap on tokens in the window, from 1 to 9007199254740991; 0 blocks until the rule ends; null removes the cap that the configuration declares.
   */
  max_tokens?: number | null;
  /**
   * enforce refuses requests over the cap; shadow only counts and reports them.
   */
  mode: 'enforce' | 'shadow';
  /**
   * What holds where the fleet counts the rule and the state store does not answer. share: each proxy admits its part of the cap. closed: nothing is admitted (503). open: each proxy admits the whole cap. Absent: as in the configuration's rule, else rate_limits.on_store_loss.
   */
  on_store_loss?: 'share' | 'closed' | 'open';
  /**
   * What operators call the rule: 1 to 64 letters, digits, dots, underscores, hyphens and inner spaces. Several rules may have the same name. Null or absent: the name of the configuration's rule, if any.
   */
  name?: string | null;
  /**
   * The reason, shown in the listing; null or empty is the same as absent.
   */
  reason?: string | null;
  /**
   * A time in the future when the rule ends. RFC 3339; null is the same as absent.
   */
  expires_at?: string | null;
  /**
   * In how long the rule ends, instead of expires_at: a whole number of minutes, hours or days such as 30m, 8h or 90d. null is the same as absent.
   */
  expires_in?: string | null;
}
/**
 * The body of DELETE /admin/rate-limits: which rule.
 */
export interface RateLimitDelete {
  /**
   * The kind of the subject; user_path when absent.
   */
  scope?: 'user_path' | 'provider' | 'model';
  /**
   * The path, the name of a provider, or a model: <provider>/<model> or a bare id. Letter case does not matter.
   */
  subject?: string;
  /**
   * The path of a user-path rule without colons and control characters, instead of scope and subject. Where both are given they must mean the same path.
   */
  user_path?: string;
  /**
   * The period of the rule: exactly one of the two.
   */
  limit_key?: {
    /**
     * A named period; concurrent caps the requests in flight.
     */
    period?: 'minute' | 'hour' | 'day' | 'concurrent';
    /**
     * Length of a custom window in seconds, from 1 to 2147483647; 60 is the same as minute.
     */
    period_seconds?: number;
  };
  /**
   * A named period; concurrent caps the requests in flight. Beside the subject, instead of limit_key.
   */
  period?: 'minute' | 'hour' | 'day' | 'concurrent';
  /**
   * Length of a custom window in seconds, from 1 to 2147483647; 60 is the same as minute. Beside the subject, instead of limit_key.
   */
  period_seconds?: number;
}
/**
 * The body of POST /admin/rate-limits/reset-one: the rule whose counters are cleared.
 */
export interface RateLimitResetOne {
  /**
   * The kind of the subject; user_path when absent.
   */
  scope?: 'user_path' | 'provider' | 'model';
  /**
   * The path, the name of a provider, or a model: <provider>/<model> or a bare id. Letter case does not matter.
   */
  subject?: string;
  /**
   * The path of a user-path rule without colons and control characters, instead of scope and subject. Where both are given they must mean the same path.
   */
  user_path?: string;
  /**
   * The period of the rule: exactly one of the two.
   */
  limit_key?: {
    /**
     * A named period; concurrent caps the requests in flight.
     */
    period?: 'minute' | 'hour' | 'day' | 'concurrent';
    /**
     * Length of a custom window in seconds, from 1 to 2147483647; 60 is the same as minute.
     */
    period_seconds?: number;
  };
  /**
   * A named period; concurrent caps the requests in flight. Beside the subject, instead of limit_key.
   */
  period?: 'minute' | 'hour' | 'day' | 'concurrent';
  /**
   * Length of a custom window in seconds, from 1 to 2147483647; 60 is the same as minute. Beside the subject, instead of limit_key.
   */
  period_seconds?: number;
}
/**
 * The body of POST /admin/rate-limits/reset: the counters of all rules are cleared.
 */
export interface RateLimitReset {
  /**
   * Exactly this word.
   */
  confirmation: 'reset';
}
/**
 * The body of PUT /admin/budgets: the complete budget. It replaces another one of an operator. When the configuration declares the same budget, an absent per_child is taken from there.
 */
export interface BudgetWrite {
  /**
   * The kind of the subject; user_path when absent.
   */
  scope?: 'user_path' | 'label';
  /**
   * The path, in any letter case, or the label as keys carry it.
   */
  subject?: string;
  /**
   * The path of a budget of scope user_path, without colons and control characters, instead of scope and subject. Where both are given they must mean the same path.
   */
  user_path?: string;
  /**
   * The period of the budget: exactly one of the two.
   */
  budget_key?: {
    /**
     * A named period.
     */
    period?: 'hourly' | 'daily' | 'weekly' | 'monthly';
    /**
     * Length of a custom window in seconds, from 1 to 2147483647; 86400 is the same as daily, and 2592000 stands for a calendar month.
     */
    period_seconds?: number;
  };
  /**
   * A named period. Beside the subject, instead of budget_key.
   */
  period?: 'hourly' | 'daily' | 'weekly' | 'monthly';
  /**
   * Length of a custom window in seconds, from 1 to 2147483647; 86400 is the same as daily, and 2592000 stands for a calendar month. Beside the subject, instead of budget_key.
   */
  period_seconds?: number;
  /**
   * Give every direct child of the path a budget of its own. Needs the entitlement quota_templates. Absent: as in the configuration when it declares the same budget, otherwise false.
   */
  per_child?: boolean;
  /**
   * US dollars that may be spent in a window, from 0.000000001 to 9000000.
   */
  amount: number;
  /**
   * enforce admits a call while money is left, and an open call counts with what it is known to cost. hard sets the estimate of the whole call aside before it is made, the prompt and as much as the answer may take (max_tokens, else what it will probably take), refuses a call for which the rest does not suffice, and gives back what was not spent. shadow only reports.
   */
  mode: 'enforce' | 'hard' | 'shadow';
  /**
   * The reason, shown in the listing; null or empty is the same as absent.
   */
  reason?: string | null;
  /**
   * A time in the future when the budget ends. RFC 3339; null is the same as absent.
   */
  expires_at?: string | null;
  /**
   * In how long the budget ends, instead of expires_at: a whole number of minutes, hours or days such as 30m, 8h or 90d. null is the same as absent.
   */
  expires_in?: string | null;
}
/**
 * The body of DELETE /admin/budgets: the name of a budget.
 */
export interface BudgetDelete {
  /**
   * The kind of the subject; user_path when absent.
   */
  scope?: 'user_path' | 'label';
  /**
   * The path, in any letter case, or the label as keys carry it.
   */
  subject?: string;
  /**
   * The path of a budget of scope user_path, without colons and control characters, instead of scope and subject. Where both are given they must mean the same path.
   */
  user_path?: string;
  /**
   * The period of the budget: exactly one of the two.
   */
  budget_key?: {
    /**
     * A named period.
     */
    period?: 'hourly' | 'daily' | 'weekly' | 'monthly';
    /**
     * Length of a custom window in seconds, from 1 to 2147483647; 86400 is the same as daily, and 2592000 stands for a calendar month.
     */
    period_seconds?: number;
  };
  /**
   * A named period. Beside the subject, instead of budget_key.
   */
  period?: 'hourly' | 'daily' | 'weekly' | 'monthly';
  /**
   * Length of a custom window in seconds, from 1 to 2147483647; 86400 is the same as daily, and 2592000 stands for a calendar month. Beside the subject, instead of budget_key.
   */
  period_seconds?: number;
}
/**
 * The body of POST /admin/budgets/reset-one: the name of the budget whose spend counts from now on.
 */
export interface BudgetResetOne {
  /**
   * The kind of the subject; user_path when absent.
   */
  scope?: 'user_path' | 'label';
  /**
   * The path, in any letter case, or the label as keys carry it.
   */
  subject?: string;
  /**
   * The path of a budget of scope user_path, without colons and control characters, instead of scope and subject. Where both are given they must mean the same path.
   */
  user_path?: string;
  /**
   * The period of the budget: exactly one of the two.
   */
  budget_key?: {
    /**
     * A named period.
     */
    period?: 'hourly' | 'daily' | 'weekly' | 'monthly';
    /**
     * Length of a custom window in seconds, from 1 to 2147483647; 86400 is the same as daily, and 2592000 stands for a calendar month.
     */
    period_seconds?: number;
  };
  /**
   * A named period. Beside the subject, instead of budget_key.
   */
  period?: 'hourly' | 'daily' | 'weekly' | 'monthly';
  /**
   * Length of a custom window in seconds, from 1 to 2147483647; 86400 is the same as daily, and 2592000 stands for a calendar month. Beside the subject, instead of budget_key.
   */
  period_seconds?: number;
}
/**
 * The body of POST /admin/budgets/reset: the spend of every budget counts from now on.
 */
export interface BudgetReset {
  /**
   * Exactly this word.
   */
  confirmation: 'reset';
}
/**
 * The body of PUT /admin/budgets/settings: the anchors that change; the others stay.
 */
export interface BudgetSettingsWrite {
  /**
   * Hour at which days begin, UTC.
   */
  daily_reset_hour?: number;
  /**
   * Minute of that hour.
   */
  daily_reset_minute?: number;
  /**
   * The first day of a week: 0 is Sunday, 1 Monday, 6 Saturday.
   */
  weekly_reset_weekday?: number;
  /**
   * Hour at which weeks begin, UTC.
   */
  weekly_reset_hour?: number;
  /**
   * Minute of that hour.
   */
  weekly_reset_minute?: number;
  /**
   * The first day of a month's window; in a shorter month its last day.
   */
  monthly_reset_day?: number;
  /**
   * Hour at which months begin, UTC.
   */
  monthly_reset_hour?: number;
  /**
   * Minute of that hour.
   */
  monthly_reset_minute?: number;
}
/**
 * The body of POST /admin/auth-keys. The stored key takes at most 16 KiB.
 */
export interface AuthKeyWrite {
  /**
   * The name of the key: not blank, without invisible characters; blanks at its ends are removed.
   */
  name: string;
  /**
   * What it is for.
   */
  description?: string;
  /**
   * The user path of the key, such as /team/app, or / for the root: no colons, no invisible characters. It always wins over the header; absent: the root, unless any_user_path.
   */
  user_path?: string;
  /**
   * Whether each request may name any user path in a header: for clients that serve several users and are trusted to name them. Not together with user_path; only a key for the whole gateway may set it.
   */
  any_user_path: boolean;
  /**
   * Labels to sort keys by.
   *
   * Items: A label: not blank, without invisible characters; blanks at its ends are removed.
   */
  labels?: string[];
  /**
   * The models that the key may use; absent or empty: every model.
   *
   * Items: `*`, `provider/*`, `provider/model`, a bare model id or the name of an alias; letter case does not matter.
   */
  allowed_models?: string[];
  /**
   * Whether the key may use the admin API and the dashboard, within its user path.
   */
  dashboard_access: boolean;
  /**
   * What the key may do on the admin API, within its user path: a viewer reads, an operator also changes limits, resets and takes targets out, an admin also writes keys, aliases and guardrails. Only with dashboard_access: true; absent there: admin. At most that of the operator.
   */
  role?: 'viewer' | 'operator' | 'admin';
  /**
   * When the key expires; in the future. RFC 3339; null is the same as absent.
   */
  expires_at?: string | null;
  /**
   * In how long the key expires, instead of expires_at: a whole number of minutes, hours or days such as 30m, 8h or 90d. null is the same as absent.
   */
  expires_in?: string | null;
}
/**
 * The body of POST /admin/auth-keys/batch.
 */
export interface AuthKeyBatch {
  /**
   * The keys; each as in POST /admin/auth-keys.
   *
   * Items: The body of POST /admin/auth-keys. The stored key takes at most 16 KiB.
   */
  keys: {
    /**
     * The name of the key: not blank, without invisible characters; blanks at its ends are removed.
     */
    name: string;
    /**
     * What it is for.
     */
    description?: string;
    /**
     * The user path of the key, such as /team/app, or / for the root: no colons, no invisible characters. It always wins over the header; absent: the root, unless any_user_path.
     */
    user_path?: string;
    /**
     * Whether each request may name any user path in a header: for clients that serve several users and are trusted to name them. Not together with user_path; only a key for the whole gateway may set it.
     */
    any_user_path: boolean;
    /**
     * Labels to sort keys by.
     *
     * Items: A label: not blank, without invisible characters; blanks at its ends are removed.
     */
    labels?: string[];
    /**
     * The models that the key may use; absent or empty: every model.
     *
     * Items: `*`, `provider/*`, `provider/model`, a bare model id or the name of an alias; letter case does not matter.
     */
    allowed_models?: string[];
    /**
     * Whether the key may use the admin API and the dashboard, within its user path.
     */
    dashboard_access: boolean;
    /**
     * What the key may do on the admin API, within its user path: a viewer reads, an operator also changes limits, resets and takes targets out, an admin also writes keys, aliases and guardrails. Only with dashboard_access: true; absent there: admin. At most that of the operator.
     */
    role?: 'viewer' | 'operator' | 'admin';
    /**
     * When the key expires; in the future. RFC 3339; null is the same as absent.
     */
    expires_at?: string | null;
    /**
     * In how long the key expires, instead of expires_at: a whole number of minutes, hours or days such as 30m, 8h or 90d. null is the same as absent.
     */
    expires_in?: string | null;
  }[];
}
/**
 * The body of PATCH /admin/auth-keys/{id}: the members to change; absent members stay. The stored key takes at most 16 KiB.
 */
export interface AuthKeyChange {
  /**
   * The name of the key: not blank, without invisible characters; blanks at its ends are removed.
   */
  name?: string;
  /**
   * What it is for; null removes it.
   */
  description?: string | null;
  /**
   * The user path of the key: no colons, no invisible characters. It ends any_user_path; null is the root.
   */
  user_path?: string | null;
  /**
   * The complete list of labels; an empty list removes them.
   *
   * Items: A label: not blank, without invisible characters; blanks at its ends are removed.
   */
  labels?: string[];
  /**
   * The complete list of models that the key may use; null or an empty list removes the restriction.
   */
  allowed_models?: string[] | null;
  /**
   * When the key expires; in the future. RFC 3339; null: never.
   */
  expires_at?: string | null;
  /**
   * In how long the key expires, instead of expires_at: a whole number of minutes, hours or days such as 30m, 8h or 90d. null: never.
   */
  expires_in?: string | null;
}
/**
 * The body of POST /admin/auth-keys/{id}/rotate; an object without members revokes the old key at once.
 */
export interface AuthKeyRotate {
  /**
   * For how long the old key still works beside the new one, so that its users can change over: a whole number of minutes, hours or days such as 30m, 8h or 7d. Absent: not at all. null is the same as absent.
   */
  overlap?: string | null;
}
/**
 * The body of PUT /admin/auth-keys/{id}/labels: the complete list; an empty list removes all labels. The stored key takes at most 16 KiB.
 */
export interface AuthKeyLabels {
  /**
   * Labels to sort keys by.
   *
   * Items: A label: not blank, without invisible characters; blanks at its ends are removed.
   */
  labels: string[];
}
/**
 * The body of PUT /admin/auth-keys/{id}/allowed-models: the complete list. The stored key takes at most 16 KiB.
 */
export interface AuthKeyAllowedModels {
  /**
   * An empty list removes the restriction.
   *
   * Items: `*`, `provider/*`, `provider/model`, a bare model id or the name of an alias; letter case does not matter.
   */
  allowed_models: string[];
}
/**
 * The body of PUT /admin/auth-keys/{id}/dashboard-access.
 */
export interface AuthKeyDashboardAccess {
  /**
   * Whether the key may use the admin API and the dashboard.
   */
  dashboard_access: boolean;
  /**
   * What it may do there, at most what the operator may. Absent: it keeps its role; a key without access gets admin.
   */
  role?: 'viewer' | 'operator' | 'admin';
}
/**
 * The body of PUT /admin/virtual-models: an alias, as in the configuration. The stored alias takes at most 16 KiB.
 */
export interface VirtualModelWrite {
  /**
   * The name that clients ask for. It may be the name of a model, which it then replaces. `<prefix>/*` stands for a family: every model of its targets, as `<prefix>/<model>`.
   */
  source: string;
  /**
   * What it leads to: a selector <provider>/<model>, a bare model id (that model on any provider), or another alias; for a family, <provider>/*. Short for one entry under targets.
   */
  target?: string;
  /**
   * The same as target.
   */
  target_model?: string;
  /**
   * What it leads to, in order: each entry as `target`.
   *
   * Items: One place an alias may lead to.
   */
  targets?: {
    /**
     * A selector <provider>/<model>, a bare model id, or another alias; for a family, <provider>/*.
     */
    model: string;
    /**
     * Share of the requests, relative to the other targets; for round_robin, session_affinity and least_busy, and between targets that are equal for quota.
     */
    weight: number;
    /**
     * Targets of the lowest tier are asked first, in the order of the strategy; those of the next tier only when none of them can be used. Without it, 1.
     */
    tier?: number;
    /**
     * A condition in CEL: the target is left out of a request for which it is false.
     */
    when?: string;
  }[];
  /**
   * Which target a request asks first; the others follow in order. round_robin: by weight. failover: the first one. least_latency: the one with the fastest first byte. cost: the cheapest with a price. session_affinity: always the same one for a conversation, by weight. least_busy: the one with the fewest open requests for its weight. quota: the one whose provider reports the largest share of its own limits as left.
   */
  strategy: 'round_robin' | 'failover' | 'least_latency' | 'cost' | 'session_affinity' | 'least_busy' | 'quota';
  /**
   * Who may use it: these user paths and everything below them. For other user paths the alias does not exist. Absent: all user paths.
   *
   * Items: A user path such as /team/app: no empty text, no colons, no invisible characters.
   */
  user_paths?: string[];
  /**
   * A condition in CEL. For a request for which it is false the alias does not exist: its name leads where it would without it.
   */
  when?: string;
  /**
   * If false, the alias does not exist for clients: its name leads to the model of that name, if there is one. Absent: as it was, at first true.
   */
  enabled?: boolean;
  /**
   * What it is for.
   */
  description?: string;
  /**
   * How often a request to this alias may be sent, and after which failures. Without it, as the defaults say.
   */
  retry?: {
    /**
     * The most calls to providers for one request, the first one included. Without it, as many as the alias has targets, but from 3 to 5.
     */
    attempts?: number;
    /**
     * The share of extra calls for this alias alone: in any 10 s at most 10 and this ratio of its requests. Without it, the alias shares the budget of the process, which is 0.2.
     */
    budget?: number;
    /**
     * The failures after which another call is made; by default all but content_filter. Never once a client has got the first byte.
     *
     * Items: A kind of failure: unreachable, no connection to the provider; timeout; rate_limit, 429; server_error, 5xx; invalid_answer, what no client can use; context_length, the request is too long for this model; content_filter, the provider refuses the content; account, it refuses our key, has no money of ours left (402) or forbids what is asked; model_gone. connect, unauthorized and model_unavailable are former words for unreachable, account and model_gone.
     */
    on: (
      | 'unreachable'
      | 'timeout'
      | 'rate_limit'
      | 'server_error'
      | 'invalid_answer'
      | 'context_length'
      | 'content_filter'
      | 'account'
      | 'model_gone'
      | 'connect'
      | 'unauthorized'
      | 'model_unavailable'
    )[];
    /**
     * No further call begins when this time has passed since the request came. A whole number followed by ms, s, m or h.
     */
    deadline?: string;
  };
  /**
   * Whether a second target is asked when the first one is slow to begin its answer; the first answer wins, the other call is cancelled. true: when it takes longer than 95 of 100 of its answers did; percentile: another number of 100; after: a fixed time. It needs two targets, and both calls cost: in any ten seconds at most two requests and 5 % of those to aliases that hedge are asked twice (with a percentile of 90, 10 %), within the retry budget.
   */
  hedge:
    | boolean
    | {
        /**
         * The second target is asked after this time without a first byte. A whole number followed by ms, s, m or h.
         */
        after?: string;
        /**
         * The second target is asked when this many of 100 answers of the first one began sooner.
         */
        percentile?: number;
      };
  /**
   * Whether another target tells the rest of a stream that breaks in the middle: it goes on behind what was said (continue), or begins again and must say the same as far as the client has read (restart). Absent: such a stream ends with an error event.
   */
  rescue?: 'continue' | 'restart';
  /**
   * A model that gets a copy of a share of the requests, once their clients have been answered: what it says goes to no client, and is compared with the answers of the targets. See docs/mirror.md.
   */
  mirror?: {
    /**
     * One model of a provider: a selector <provider>/<model>, or a bare model id, which means the first provider that lists it. No alias.
     */
    target: string;
    /**
     * The share of the requests to this alias that are copied, at random. 0: none.
     */
    share: number;
  };
}
/**
 * The body of DELETE /admin/virtual-models.
 */
export interface VirtualModelDelete {
  /**
   * Which one, by its source; letter case does not matter.
   */
  source: string;
}
/**
 * The body of a DELETE of documents that are named entries, such as /admin/guardrails.
 */
export interface EntryDelete {
  /**
   * The name of an entry that an operator has set.
   */
  name: string;
}
/**
 * The body of POST /admin/guardrails/test: a text, or a body of a model endpoint.
 */
export interface GuardrailTest {
  /**
   * The words of a user, or with phase output of an assistant. Either text or body.
   */
  text?: string;
  /**
   * A request, or with phase output a whole answer, as it is at the endpoint.
   */
  body?: {};
  /**
   * Whose form the body has.
   */
  endpoint:
    | '/v1/chat/completions'
    | '/v1/completions'
    | '/v1/responses'
    | '/v1/messages'
    | '/v1/messages/count_tokens'
    | '/v1/embeddings'
    | '/v1/audio/speech'
    | '/v1/images/generations'
    | '/v1/moderations'
    | '/v1/rerank';
  /**
   * input: a request; output: an answer.
   */
  phase: 'input' | 'output';
  /**
   * The caller. Absent: the root.
   */
  user_path?: string;
  /**
   * The name that is asked for. Absent: the one in the body; without one, guardrails of certain models do not hold.
   */
  model?: string;
}
/**
 * The body of PUT /admin/config/pin: which revision all proxies keep to, why, and until when. It replaces an earlier pin.
 */
export interface ConfigPinWrite {
  /**
   * A revision whose files are kept, or previous: the one that was in force before the present one. While one is pinned, previous is that one.
   */
  revision: string;
  /**
   * Why, shown wherever the pin is.
   */
  reason: string;
  /**
   * When the directories count again: in the future, at most 30 days from now. RFC 3339.
   */
  expires_at?: string;
  /**
   * In how long they do, instead of expires_at: a whole number of minutes, hours or days such as 30m, 8h or 2d, at most 30 days.
   */
  expires_in?: string;
}
/**
 * The body of POST /admin/heartbeats: what a proxy says of itself while the state store does not take its heartbeats.
 */
export interface HeartbeatWrite {
  /**
   * Its GATEWAY_INSTANCE.
   */
  instance: string;
  /**
   * What it would have written to the state store. Its members belong to the version of the proxy.
   */
  heartbeat: {};
}
/**
 * The body of POST /admin/targets/{provider}/drain: why the target is taken out, and until when. It replaces an earlier one of the same target.
 */
export interface TargetDrainWrite {
  /**
   * The reason, shown wherever the target is.
   */
  reason: string;
  /**
   * A time in the future when the target is given back. RFC 3339.
   */
  expires_at?: string;
  /**
   * In how long it is given back, instead of expires_at: a whole number of minutes, hours or days such as 30m, 8h or 90d.
   */
  expires_in?: string;
}
/**
 * The body of PUT /admin/config/rollout: ends the rollout of a revision before its time.
 */
export interface ConfigRolloutWrite {
  /**
   * finished: all proxies take the revision now, also one that was aborted or waits. aborted: none has it, and it waits until the directory has another one.
   */
  phase: 'finished' | 'aborted';
  /**
   * The reason, shown with the rollout. An abort needs one.
   */
  reason?: string;
}
/**
 * The body of POST /admin/session: a browser logs in.
 */
export interface SessionWrite {
  /**
   * The master key, or a key with dashboard access.
   */
  key: string;
}
/**
 * The body of POST /admin/sign-in: a browser begins to sign in at an identity provider.
 */
export interface SignInWrite {
  /**
   * The name of the identity in the configuration.
   */
  identity: string;
  /**
   * Path and query of the page of the dashboard that is shown afterwards; anything else means its first page.
   */
  page: string;
}
/**
 * The answer of GET, PUT and DELETE /admin/rate-limits and of POST /admin/rate-limits/reset-one: every rule, or one page of them when a limit is asked for, sorted by scope, subject and period. When a manual rule cannot be enforced, the list also has the rule of the configuration that is enforced instead.
 */
export interface RateLimitsAnswer {
  /**
   * The rules; may be empty.
   *
   * Items: One rule, and its usage on all live proxies together. Usage is left out while the store does not answer.
   */
  rate_limits: {
    /**
     * The short name of the rule in metric labels.
     */
    id: string;
    /**
     * What operators call the rule; the access log and the header x-gateway-rule of a 429 say it. Absent: they say the id.
     */
    name?: string;
    /**
     * The kind of the subject.
     */
    scope: 'user_path' | 'provider' | 'model';
    /**
     * The path, normalised; the provider or model as written.
     */
    subject: string;
    /**
     * The subject as it is matched. Absent for a template, because each child is matched separately.
     */
    effective_subject?: string;
    /**
     * The normalised path.
     */
    user_path?: string;
    /**
     * A template: every direct child of the path has its own counters, so the listing has no totals.
     */
    per_child: boolean;
    /**
     * Set through the admin API, or declared in YAML or the environment.
     */
    source: 'manual' | 'config';
    /**
     * The configuration declares the same rule. Caps that this rule does not name are taken from there; when this rule ends, the other is in force again.
     */
    overrides_config: boolean;
    /**
     * Where the configuration declares this rule, also when a manual rule overrides it: file and line, the file relative to the configuration directory, or the environment variable.
     */
    declared_at?: string;
    /**
     * False when the rule is not enforced at all: unenforced_reason says why.
     */
    enforced: boolean;
    /**
     * Which part of the rule is not enforced, and why: rate limits or usage tracking are switched off, an entitlement is missing, or there is no such provider or model.
     */
    unenforced_reason?: string;
    /**
     * A shadow rule only reports what it would have refused.
     */
    mode: 'enforce' | 'shadow';
    /**
     * What this rule says to hold while the state store does not answer; absent: rate_limits.on_store_loss holds.
     */
    on_store_loss?: 'share' | 'closed' | 'open';
    /**
     * minute, hour, day, concurrent, or the seconds, such as 300s.
     */
    period_label: string;
    /**
     * Length of the window; 0: requests in flight.
     */
    period_seconds: number;
    /**
     * Cap on requests in the window, or in flight; 0: a block until expires_at.
     */
    max_requests?: number;
    /**
     * Cap on tokens in the window; 0: a block until expires_at.
     */
    max_tokens?: number;
    /**
     * Requests counted in the trailing period; 0 without a cap on them.
     */
    requests_used?: number;
    /**
     * What is left of max_requests; for a concurrency rule, the free slots. Where each proxy counts alone, what is left on all of them.
     */
    requests_remaining?: number;
    /**
     * Tokens counted in the trailing period; 0 without a cap on them.
     */
    tokens_used?: number;
    /**
     * Where tokens have a cap: what open requests have set aside on all proxies. It is not in tokens_used.
     */
    tokens_reserved?: number;
    /**
     * What is left of max_tokens, beside what is used and what is set aside; as requests_remaining.
     */
    tokens_remaining?: number;
    /**
     * How often it has refused a request or, with mode shadow, would have, on the live proxies since each of them has started. A request over both caps counts twice.
     */
    refused?: number;
    /**
     * Requests in flight now; 0 for other periods than concurrent.
     */
    in_flight?: number;
    /**
     * fleet: the caps hold for all proxies together, and the figures are those of the state store. replica: each proxy has the caps for itself, the figures are the sum, and effective_max_requests and effective_max_tokens what they are to be compared with.
     */
    counted?: 'fleet' | 'replica';
    /**
     * The live proxies that share the rule, or of which each has it for itself.
     */
    replicas?: number;
    /**
     * Of a rule that each proxy counts alone: max_requests times the live proxies.
     */
    effective_max_requests?: number;
    /**
     * The same of max_tokens.
     */
    effective_max_tokens?: number;
    /**
     * Of a rule that the fleet counts: exact; recovering while the store waits until all proxies have told what they hold; share, closed or open (its on_store_loss) while the store does not answer some proxy.
     */
    exactness?: 'exact' | 'share' | 'closed' | 'open' | 'recovering';
    /**
     * Of a rule that the fleet counts: requests, or slots, that proxies hold in advance and have not told as used. Absent: the store did not say it.
     */
    held?: number;
    /**
     * The same for tokens, beside those that open requests have set aside.
     */
    tokens_held?: number;
    /**
     * The part of each proxy that has counted something, the first hundred by name.
     *
     * Items: What one proxy has counted itself of a rule, and, where the fleet counts it, holds of it in advance.
     */
    proxies?: {
      /**
       * Its GATEWAY_INSTANCE.
       */
      instance: string;
      /**
       * Requests in the trailing period that it counted since it has started.
       */
      requests_used: number;
      /**
       * The same for tokens.
       */
      tokens_used: number;
      /**
       * Its requests in flight, under a rule on these.
       */
      in_flight: number;
      /**
       * Where the fleet counts the rule: requests, or slots, that it holds in advance.
       */
      held?: number;
      /**
       * Where tokens have a cap: what its open requests have set aside.
       */
      tokens_reserved?: number;
      /**
       * Where tokens have a cap: tokens that it holds in advance, beside these.
       */
      tokens_held?: number;
    }[];
    /**
     * When the oldest usage that still counts began; the current time without usage. RFC 3339, UTC.
     */
    window_start?: string;
    /**
     * When all current usage will have left the window; one period from now without usage. RFC 3339, UTC.
     */
    window_end?: string;
    /**
     * Why the operator set the rule.
     */
    reason?: string;
    /**
     * When the rule ends. RFC 3339, UTC.
     */
    expires_at?: string;
    /**
     * When the rule was first set, or its configuration first applied. RFC 3339, UTC.
     */
    created_at: string;
    /**
     * When it was last set. RFC 3339, UTC.
     */
    updated_at: string;
    /**
     * Who set it last: master_key, or the id of a managed key.
     */
    updated_by?: string;
  }[];
  /**
   * Of a page: how many rules the filters leave on all pages.
   */
  total?: number;
  /**
   * The longest that this page could be.
   */
  limit?: number;
  /**
   * How many rules come before this page.
   */
  offset?: number;
  /**
   * Of a page: how many rules there are without filters, as far as the operator may see them.
   */
  unfiltered_total?: number;
  /**
   * The time of this answer. RFC 3339, UTC.
   */
  server_time: string;
  /**
   * Present, and true, only while the store does not answer: the rules are those in force in this control plane, and their usage is left out.
   */
  stale?: true;
  /**
   * When the store was found not to answer. RFC 3339, UTC. What is used shows again when it answers.
   */
  stale_since?: string;
}
/**
 * The answer of GET, PUT and DELETE /admin/budgets and of POST /admin/budgets/reset-one: every budget, sorted by scope and subject, the longer period first. When a budget of an operator cannot be enforced, the list also has the one of the configuration that is enforced instead.
 */
export interface BudgetsAnswer {
  /**
   * Every budget; may be empty.
   *
   * Items: One budget, and what was spent. Spend is left out of templates without a child, and while the record store does not answer.
   */
  budgets: {
    /**
     * The short name of the budget in metric labels.
     */
    id: string;
    /**
     * The kind of the subject.
     */
    scope: 'user_path' | 'label';
    /**
     * The path, normalised, or the label.
     */
    subject: string;
    /**
     * Whose spend is shown. Of a template: the child that the query parameter covers belongs to; absent without it.
     */
    effective_subject?: string;
    /**
     * The normalised path.
     */
    user_path?: string;
    /**
     * A template: every direct child of the path has a budget of its own.
     */
    per_child: boolean;
    /**
     * Set through the admin API, or declared in YAML or the environment.
     */
    source: 'manual' | 'config';
    /**
     * The configuration declares the same budget; when this one ends, the other is in force again.
     */
    overrides_config: boolean;
    /**
     * Where the configuration declares this budget, also when an operator's overrides it: file and line, the file relative to the configuration directory, or the environment variable.
     */
    declared_at?: string;
    /**
     * False when the budget is not enforced: unenforced_reason says why.
     */
    enforced: boolean;
    /**
     * Why it is not enforced: budgets or usage tracking are switched off, or an entitlement is missing.
     */
    unenforced_reason?: string;
    /**
     * A shadow budget only reports what it would have refused. A hard one sets the estimate of each whole call aside before it is made.
     */
    mode: 'enforce' | 'hard' | 'shadow';
    /**
     * hourly, daily, weekly, monthly, or the seconds, such as 300s.
     */
    period_label: string;
    /**
     * Length of the window; 2592000 stands for a calendar month.
     */
    period_seconds: number;
    /**
     * US dollars that may be spent in a window.
     */
    amount: number;
    /**
     * When the present window began.
     */
    period_start: string;
    /**
     * When it ends.
     */
    period_end: string;
    /**
     * The share of the window that is over.
     */
    period_ratio: number;
    /**
     * When it was reset last; spend counts from here on, if the window began before.
     */
    last_reset_at?: string;
    /**
     * US dollars spent in the window.
     */
    spent?: number;
    /**
     * Whether anything that has a price was used in the window.
     */
    has_usage?: boolean;
    /**
     * What is left of the amount; negative when more was spent.
     */
    remaining?: number;
    /**
     * spent divided by amount.
     */
    usage_ratio?: number;
    /**
     * The amount is spent; requests are refused, unless the mode is shadow.
     */
    exceeded?: boolean;
    /**
     * Why the operator set the rule.
     */
    reason?: string;
    /**
     * When the rule ends. RFC 3339, UTC.
     */
    expires_at?: string;
    /**
     * When the rule was first set, or its configuration first applied. RFC 3339, UTC.
     */
    created_at: string;
    /**
     * When it was last set. RFC 3339, UTC.
     */
    updated_at: string;
    /**
     * Who set it last: master_key, or the id of a managed key.
     */
    updated_by?: string;
  }[];
  /**
   * The time of this answer. RFC 3339, UTC.
   */
  server_time: string;
  /**
   * Present only while models have no price, so that requests for them cost no budget anything: a sentence that names them.
   */
  warnings?: string[];
  /**
   * Present, and true, only while the state store or the record store does not answer: the budgets are those in force in this control plane, and spend that is not known is left out.
   */
  stale?: true;
}
/**
 * The answer of GET /admin/explain: what would become of a request at this proxy now. Nothing is sent, and nothing is counted. Where the fleet counts a rule, the state store is asked before, for lease_wait at most.
 */
export interface ExplanationAnswer {
  /**
   * The request as the gateway understands it.
   */
  request: {
    /**
     * The consumer whose rules apply; the path of the key wins.
     */
    user_path: string;
    /**
     * The name that is asked for. Empty in the explanation of a request that was refused before its body was read.
     */
    model: string;
    /**
     * Whether the answer is to be a stream.
     */
    stream: boolean;
    /**
     * The path where it would be sent, when one was named.
     */
    endpoint?: string;
    /**
     * The conversation it belongs to.
     */
    thread?: string;
    /**
     * The tokens of its prompt, as the question says.
     */
    input_tokens?: number;
    /**
     * The key that the request would have.
     */
    key?: {
      /**
       * Of a token: the identity that it is of.
       */
      identity?: string;
      /**
       * Of a token: where each of its rights comes from.
       *
       * Items: A right, its place in the configuration, and the claims that it is made of or depends on.
       */
      rights?: {
        /**
         * The right.
         */
        right: 'user_path' | 'labels' | 'allowed_models' | 'dashboard';
        /**
         * What gives it.
         */
        from: string;
        /**
         * The claims behind it. Empty: it is the same for every token.
         */
        claims: string[];
      }[];
      /**
       * Its id.
       */
      id: string;
      /**
       * Its name.
       */
      name: string;
      /**
       * The user path that it is bound to.
       */
      user_path?: string;
      /**
       * Whether a request may name any user path.
       */
      any_user_path: boolean;
      /**
       * The models it may use. Empty: every model.
       *
       * Items: A name or a pattern.
       */
      allowed_models: string[];
      /**
       * Whether it lets in now.
       */
      state: 'active' | 'expired' | 'revoked';
    };
  };
  /**
   * What would happen, in a sentence.
   */
  outcome: string;
  /**
   * The answer that a client would get.
   */
  refusal?: {
    /**
     * The status.
     */
    status: number;
    /**
     * The error code.
     */
    code: string;
    /**
     * The words for people.
     */
    message: string;
    /**
     * Until a retry would be admitted.
     */
    retry_after_seconds?: number;
    /**
     * The rule that decides: its name, else its id.
     */
    rule?: string;
  };
  /**
   * What the name means.
   */
  resolution: {
    /**
     * model: <provider>/<model>. bare_id: a model on any provider that lists it. family: a name of an alias such as eu/*. unknown: it leads nowhere for this user path.
     */
    kind: 'alias' | 'family' | 'bare_id' | 'model' | 'unknown';
    /**
     * The aliases on its way, the one that was asked for first.
     *
     * Items: An alias on the way of the name.
     */
    aliases: {
      /**
       * The name that was looked up.
       */
      name: string;
      /**
       * The family that declares it, such as eu/*.
       */
      family?: string;
      /**
       * Which of its targets is asked first.
       */
      strategy: 'round_robin' | 'failover' | 'least_latency' | 'cost' | 'session_affinity' | 'least_busy' | 'quota';
      /**
       * What it leads to, as it is written.
       *
       * Items: A model, a bare id, or another alias.
       */
      targets: string[];
      /**
       * Who may use it.
       *
       * Items: A user path.
       */
      user_paths?: string[];
      /**
       * Its condition; for operators of the whole gateway.
       */
      when?: string;
      /**
       * config: the YAML or a variable declares it; manual: an operator has set it. Absent, as all that follows from it, for an operator whose user path it is not in.
       */
      source?: 'config' | 'manual';
      /**
       * Where the configuration declares it: file and line, the file relative to the configuration directory; or the variable.
       */
      declared_at?: string;
      /**
       * Who set it last: master_key, or the id of a managed key.
       */
      updated_by?: string;
    }[];
    /**
     * Which target is asked first; of a name with several.
     */
    strategy?: 'round_robin' | 'failover' | 'least_latency' | 'cost' | 'session_affinity' | 'least_busy' | 'quota';
    /**
     * The most calls to providers for one request.
     */
    attempts?: number;
    /**
     * Present when another target is asked beside one that is slow to begin its answer.
     */
    hedge?: true;
    /**
     * Present when another target tells the rest of a stream that breaks in the middle: it goes on (continue), or begins again (restart).
     */
    rescue?: 'continue' | 'restart';
  };
  /**
   * Of a request at a named endpoint.
   */
  counted?: {
    /**
     * Which rules count and refuse it. all: those on the user path, the provider and the model. user_paths: of batches, those on the user path, but for concurrency rules.
     */
    rules: 'all' | 'user_paths' | 'none';
    /**
     * How long it holds one slot of each concurrency rule: until its answer has ended, until the session has, or not at all.
     */
    slot: 'answer' | 'session' | 'none';
    /**
     * The same in words.
     */
    says: string;
  };
  /**
   * Budgets that cover the request and are used up, as far as the control plane has told this proxy.
   *
   * Items: One budget that is used up. The amounts are absent for an operator whose user path it is not in.
   */
  budgets: {
    /**
     * As in the listing of /admin/budgets.
     */
    id: string;
    scope: 'user_path' | 'label';
    subject: string;
    /**
     * Whose spend it is: of a template, the child.
     */
    effective_subject: string;
    per_child: boolean;
    /**
     * A shadow budget refuses nothing. A hard one refuses a call for which the rest does not suffice.
     */
    mode: 'enforce' | 'hard' | 'shadow';
    period_label: string;
    period_seconds: number;
    period_end: string;
    /**
     * Until the window ends.
     */
    retry_after_seconds: number;
    /**
     * US dollars.
     */
    amount?: number;
    spent?: number;
  }[];
  /**
   * Whether rules are enforced at all.
   */
  rate_limits_enabled: boolean;
  /**
   * The rules of the user path that count the request, in the order in which they are checked.
   *
   * Items: A rule that holds for the request. Its counters are those of the fleet or of this proxy, as counted says; they and its source are absent for an operator whose user path it is not in.
   */
  rules: {
    /**
     * As in the listing of rules.
     */
    id: string;
    /**
     * What operators call it.
     */
    name?: string;
    /**
     * What it limits.
     */
    scope: 'user_path' | 'provider' | 'model';
    /**
     * Whom it limits.
     */
    subject: string;
    /**
     * Whose counters these are: of a template, the child.
     */
    effective_subject: string;
    /**
     * Whether each direct child has counters of its own.
     */
    per_child: boolean;
    /**
     * shadow: it counts and refuses nothing.
     */
    mode: 'enforce' | 'shadow';
    /**
     * The period for people.
     */
    period_label: string;
    /**
     * The period; 0: requests in flight.
     */
    period_seconds: number;
    /**
     * The cap on requests.
     */
    max_requests?: number;
    /**
     * The cap on tokens.
     */
    max_tokens?: number;
    /**
     * fleet: all proxies count it together, and the figures are those of the state store, which is asked before. replica: this proxy counts it alone.
     */
    counted: 'fleet' | 'replica';
    /**
     * Of a rule that the fleet counts: the live proxies that share it.
     */
    replicas?: number;
    /**
     * Of a rule that the fleet counts: exact; recovering while the store waits until all proxies have told what they hold; share, closed or open (its on_store_loss) while the store does not answer this proxy. Then the figures are those that it heard last, and what remains is what it admits alone.
     */
    exactness?: 'exact' | 'share' | 'closed' | 'open' | 'recovering';
    /**
     * Of a rule that the fleet counts: what holds while the state store does not answer.
     */
    on_store_loss?: 'share' | 'closed' | 'open';
    /**
     * Who counts it, and what holds now, in words.
     */
    says: string;
    /**
     * Whether it has nothing left.
     */
    exhausted: boolean;
    /**
     * Present when it has nothing left: until it admits a request.
     */
    retry_after_seconds?: number;
    /**
     * Requests in the period.
     */
    requests_used?: number;
    /**
     * Requests left; of a concurrency rule, free slots.
     */
    requests_remaining?: number;
    /**
     * Tokens in the period.
     */
    tokens_used?: number;
    /**
     * Where tokens have a cap: what open requests have set aside, those of all proxies where the fleet counts it. It is not in tokens_used.
     */
    tokens_reserved?: number;
    /**
     * Tokens left.
     */
    tokens_remaining?: number;
    /**
     * Of a concurrency rule: requests in flight.
     */
    in_flight?: number;
    /**
     * Of a rule that the fleet counts: requests, or slots, that this proxy holds in advance. They are not used, and can be called back.
     */
    held?: number;
    /**
     * The same of all other proxies.
     */
    held_by_others?: number;
    /**
     * Tokens that this proxy holds in advance, beside those that open requests have set aside.
     */
    tokens_held?: number;
    /**
     * The same of all other proxies.
     */
    tokens_held_by_others?: number;
    /**
     * Until all present use has left; with nothing left, until a request is admitted.
     */
    resets_in_seconds?: number;
    /**
     * config: the YAML or a variable declares it; manual: an operator has set it. Absent, as all that follows from it, for an operator whose user path it is not in.
     */
    source?: 'config' | 'manual';
    /**
     * Where the configuration declares it: file and line, the file relative to the configuration directory; or the variable.
     */
    declared_at?: string;
    /**
     * Who set it last: master_key, or the id of a managed key.
     */
    updated_by?: string;
    /**
     * Whether it replaces a rule of the configuration.
     */
    overrides_config?: boolean;
    /**
     * Why the operator set it.
     */
    reason?: string;
    /**
     * When it ends. RFC 3339, UTC.
     */
    expires_at?: string;
  }[];
  /**
   * The guardrails that look at the request or at its answer, in their order.
   *
   * Items: A guardrail that looks at the request or at its answer. Where it is declared is left out for operators of other user paths.
   */
  guardrails: {
    name: string;
    /**
     * Which block it has.
     */
    kind: 'system_prompt' | 'regex' | 'keywords' | 'pii' | 'schema' | 'limits' | 'webhook' | 'llm';
    /**
     * What it looks at: the request, the answer.
     */
    on: ('input' | 'output')[];
    mode: 'enforce' | 'shadow';
    /**
     * Lower numbers look first.
     */
    order: number;
    source?: 'config' | 'manual';
    /**
     * File and line, relative to the directory of the configuration.
     */
    declared_at?: string;
    updated_by?: string;
  }[];
  /**
   * In the order in which they would be asked now; behind them those that cannot be.
   *
   * Items: One place the name leads to.
   */
  targets: {
    /**
     * <provider>/<model>; as it is written for one that leads nowhere.
     */
    target: string;
    /**
     * How it is asked at the named endpoint. bytes: it gets the bytes of the client, but for the name of the model. Absent without an endpoint, and where the target cannot be asked there.
     */
    relay?: 'bytes' | 'translated';
    /**
     * The wire format that it is asked in, when the request is translated.
     */
    translated_to?: 'chat' | 'messages' | 'gemini' | 'responses' | 'bedrock';
    /**
     * Present when it would be asked although it is not known whether its server has the endpoint.
     */
    is_assumed?: true;
    /**
     * The share of requests that ask it first, relative to the others. Absent where the endpoint asks in declared order.
     */
    weight?: number;
    /**
     * Of a name with tiers: targets of lower tiers are asked first.
     */
    tier?: number;
    /**
     * The conditions of the targets on its way; for operators of the whole gateway.
     *
     * Items: One condition.
     */
    conditions?: {
      /**
       * As it is written.
       */
      when: string;
      /**
       * Whether it is true for the request. Absent: that depends on what the question does not say; then the target counts as one that is asked.
       */
      holds?: boolean;
    }[];
    /**
     * Requests that this proxy has sent it and that are not over. Absent: none.
     */
    open_requests?: number;
    /**
     * ask: it is asked in this order, each when those before it have failed. last_resort: only when none of those can be asked. skip: not asked.
     */
    would: 'ask' | 'last_resort' | 'skip';
    /**
     * What stands in its way, or what is special about it.
     */
    reason?:
      | 'account_used_up'
      | 'attempts_used_up'
      | 'breaker_half_open'
      | 'breaker_open'
      | 'client_credential_missing'
      | 'condition_false'
      | 'context_window_too_small'
      | 'drained'
      | 'key_refused'
      | 'model_unavailable'
      | 'no_credential'
      | 'not_granted'
      | 'provider_left_out'
      | 'quota_used_up'
      | 'resting'
      | 'saturated'
      | 'store_lost'
      | 'unknown_model'
      | 'unsupported_operation';
    /**
     * The same in words.
     */
    says: string;
    /**
     * Since when that is known; absent where it is not remembered. RFC 3339, UTC.
     */
    since?: string;
    /**
     * When it is asked in its turn again, if nothing happens until then. RFC 3339, UTC.
     */
    until?: string;
    /**
     * The mean time to its first byte.
     */
    first_byte_ms?: number;
    /**
     * Of an alias with hedge: another target is asked beside this one after that time, its 95th percentile; absent before 20 answers of the kind.
     */
    hedge_after_ms?: number;
    /**
     * What its provider said is left for this gateway, by dimension.
     */
    learned_remaining?: {
      [k: string]: number;
    };
    /**
     * The rules on its provider and its model that count the request.
     *
     * Items: A rule that holds for the request. Its counters are those of the fleet or of this proxy, as counted says; they and its source are absent for an operator whose user path it is not in.
     */
    rules: {
      /**
       * As in the listing of rules.
       */
      id: string;
      /**
       * What operators call it.
       */
      name?: string;
      /**
       * What it limits.
       */
      scope: 'user_path' | 'provider' | 'model';
      /**
       * Whom it limits.
       */
      subject: string;
      /**
       * Whose counters these are: of a template, the child.
       */
      effective_subject: string;
      /**
       * Whether each direct child has counters of its own.
       */
      per_child: boolean;
      /**
       * shadow: it counts and refuses nothing.
       */
      mode: 'enforce' | 'shadow';
      /**
       * The period for people.
       */
      period_label: string;
      /**
       * The period; 0: requests in flight.
       */
      period_seconds: number;
      /**
       * The cap on requests.
       */
      max_requests?: number;
      /**
       * The cap on tokens.
       */
      max_tokens?: number;
      /**
       * fleet: all proxies count it together, and the figures are those of the state store, which is asked before. replica: this proxy counts it alone.
       */
      counted: 'fleet' | 'replica';
      /**
       * Of a rule that the fleet counts: the live proxies that share it.
       */
      replicas?: number;
      /**
       * Of a rule that the fleet counts: exact; recovering while the store waits until all proxies have told what they hold; share, closed or open (its on_store_loss) while the store does not answer this proxy. Then the figures are those that it heard last, and what remains is what it admits alone.
       */
      exactness?: 'exact' | 'share' | 'closed' | 'open' | 'recovering';
      /**
       * Of a rule that the fleet counts: what holds while the state store does not answer.
       */
      on_store_loss?: 'share' | 'closed' | 'open';
      /**
       * Who counts it, and what holds now, in words.
       */
      says: string;
      /**
       * Whether it has nothing left.
       */
      exhausted: boolean;
      /**
       * Present when it has nothing left: until it admits a request.
       */
      retry_after_seconds?: number;
      /**
       * Requests in the period.
       */
      requests_used?: number;
      /**
       * Requests left; of a concurrency rule, free slots.
       */
      requests_remaining?: number;
      /**
       * Tokens in the period.
       */
      tokens_used?: number;
      /**
       * Where tokens have a cap: what open requests have set aside, those of all proxies where the fleet counts it. It is not in tokens_used.
       */
      tokens_reserved?: number;
      /**
       * Tokens left.
       */
      tokens_remaining?: number;
      /**
       * Of a concurrency rule: requests in flight.
       */
      in_flight?: number;
      /**
       * Of a rule that the fleet counts: requests, or slots, that this proxy holds in advance. They are not used, and can be called back.
       */
      held?: number;
      /**
       * The same of all other proxies.
       */
      held_by_others?: number;
      /**
       * Tokens that this proxy holds in advance, beside those that open requests have set aside.
       */
      tokens_held?: number;
      /**
       * The same of all other proxies.
       */
      tokens_held_by_others?: number;
      /**
       * Until all present use has left; with nothing left, until a request is admitted.
       */
      resets_in_seconds?: number;
      /**
       * config: the YAML or a variable declares it; manual: an operator has set it. Absent, as all that follows from it, for an operator whose user path it is not in.
       */
      source?: 'config' | 'manual';
      /**
       * Where the configuration declares it: file and line, the file relative to the configuration directory; or the variable.
       */
      declared_at?: string;
      /**
       * Who set it last: master_key, or the id of a managed key.
       */
      updated_by?: string;
      /**
       * Whether it replaces a rule of the configuration.
       */
      overrides_config?: boolean;
      /**
       * Why the operator set it.
       */
      reason?: string;
      /**
       * When it ends. RFC 3339, UTC.
       */
      expires_at?: string;
    }[];
  }[];
  /**
   * The model that gets a copy of a share of such requests once they are answered. Absent: the name has no mirror.
   */
  mirror?: {
    /**
     * <provider>/<model>.
     */
    target: string;
    /**
     * The share of the requests that are copied, 0 to 1.
     */
    share: number;
    /**
     * copy: such a share of requests is copied. skip: none is now.
     */
    would: 'copy' | 'skip';
    /**
     * Why, as the end of a sentence.
     */
    says: string;
  };
  /**
   * What almost holds: at most ten names and ten rules.
   *
   * Items: Something that does not hold for the request, and was perhaps meant to.
   */
  near_misses: {
    /**
     * What it is.
     */
    kind: 'alias' | 'model' | 'rule';
    /**
     * A name; of a rule, its scope, subject and period.
     */
    name: string;
    /**
     * Why it does not hold.
     */
    reason:
      | 'alias_disabled'
      | 'alias_not_in_force'
      | 'alias_condition_false'
      | 'alias_of_other_user_paths'
      | 'letter_case'
      | 'not_enforced'
      | 'other_segment'
      | 'rule_on_alias'
      | 'separator'
      | 'spelling'
      | 'template_itself';
    /**
     * The same in words.
     */
    says: string;
    /**
     * config: the YAML or a variable declares it; manual: an operator has set it. Absent, as all that follows from it, for an operator whose user path it is not in.
     */
    source?: 'config' | 'manual';
    /**
     * Where the configuration declares it: file and line, the file relative to the configuration directory; or the variable.
     */
    declared_at?: string;
    /**
     * Who set it last: master_key, or the id of a managed key.
     */
    updated_by?: string;
  }[];
  /**
   * A test of the configuration (YAML, docs/config-tests.md): what was asked and what its rules had counted is given, the outcome is expected.
   */
  as_test?: string;
  /**
   * The configuration in force in this proxy.
   */
  config_revision: string;
  /**
   * The state in force in this proxy.
   */
  state_revision: number;
  /**
   * The proxy that answers; counters and breakers are its own.
   */
  instance: string;
  /**
   * The time of this answer. RFC 3339, UTC.
   */
  server_time: string;
}
/**
 * The bodies that the admin API reads.
 */
export interface Bodies {
  rateLimitWrite: RateLimitWrite;
  rateLimitDelete: RateLimitDelete;
  rateLimitResetOne: RateLimitResetOne;
  rateLimitReset: RateLimitReset;
  budgetWrite: BudgetWrite;
  budgetDelete: BudgetDelete;
  budgetResetOne: BudgetResetOne;
  budgetReset: BudgetReset;
  budgetSettingsWrite: BudgetSettingsWrite;
  authKeyWrite: AuthKeyWrite;
  authKeyBatch: AuthKeyBatch;
  authKeyChange: AuthKeyChange;
  authKeyRotate: AuthKeyRotate;
  authKeyLabels: AuthKeyLabels;
  authKeyAllowedModels: AuthKeyAllowedModels;
  authKeyDashboardAccess: AuthKeyDashboardAccess;
  virtualModelWrite: VirtualModelWrite;
  virtualModelDelete: VirtualModelDelete;
  entryDelete: EntryDelete;
  guardrailTest: GuardrailTest;
  configPinWrite: ConfigPinWrite;
  heartbeatWrite: HeartbeatWrite;
  targetDrainWrite: TargetDrainWrite;
  configRolloutWrite: ConfigRolloutWrite;
  sessionWrite: SessionWrite;
  signInWrite: SignInWrite;
}
/**
 * The entries of the sections that are lists.
 */
export interface Entries {
  alias: Alias;
  guardrail: Guardrail;
  key: ConfigKey;
}
