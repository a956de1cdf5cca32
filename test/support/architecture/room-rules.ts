// The rules of the rooms: who may import what.
import { livesIn, never, only, type Rule, standsIn } from './checks.ts';

export const roomRules: readonly Rule[] = [
  {
    claim: 'the data plane imports itself and the rooms below the planes, nothing else of ours',
    check: never(/^proxy\//, /^(?!(proxy|plane|gitops|store|domain|schemas)\/|package\.json$).*\.(ts|json)$/),
    bad: [
      ['proxy/a.ts', "import { b } from '../control-plane/b.ts';"],
      ['proxy/a.ts', "import type { b } from '../control-plane/b.ts';"],
      ['proxy/stages/a.ts', "export { b } from '../../control-plane/b.ts';"],
      ['proxy/stages/a.ts', "export * from '../../deploy/b.ts';"],
      ['proxy/a.ts', "const b = await import('../control-plane/b.ts');"],
      ['proxy/a.ts', "let b: import('../control-plane/b.ts').B;"],
      ['proxy/a.ts', "import '../test/b.ts';"],
      ['proxy/a.ts', "import {\n  type B,\n  c,\n} from '../control-plane/b.ts';"],
      ['proxy/a.ts', "new Worker(new URL('../control-plane/b.ts', import.meta.url));"],
    ],
    good: [
      [
        'proxy/a.ts',
        "import { b } from '../schemas/b.ts';\nimport c from 'fastify';\nimport { join } from 'node:path';",
      ],
      ['proxy/main.ts', "import manifest from '../package.json' with { type: 'json' };"],
    ],
  },
  {
    claim: 'the control plane imports itself and the rooms below the planes, nothing else of ours',
    check: never(
      /^control-plane\//,
      /^(?!(control-plane|plane|gitops|store|domain|schemas)\/|package\.json$).*\.(ts|json)$/,
    ),
    bad: [
      ['control-plane/a.ts', "import { b } from '../proxy/b.ts';"],
      ['control-plane/admin/keys/a.ts', "import type { b } from '../../../proxy/b.ts';"],
    ],
    good: [['control-plane/main.ts', "import manifest from '../package.json' with { type: 'json' };"]],
  },
  {
    claim: 'the schemas import nothing of ours but schemas',
    check: never(/^schemas\//, /^(?!schemas\/).*\.(ts|json)$/),
    bad: [
      ['schemas/a.ts', "import { b } from '../proxy/b.ts';"],
      ['schemas/formats/a.ts', "import type { b } from '../../domain/b.ts';"],
    ],
    good: [['schemas/validation/a.ts', "import { b } from '../formats/b.ts';"]],
  },
  {
    claim: 'the domain imports itself and the schemas',
    check: never(/^domain\//, /^(?!(domain|schemas)\/).*\.(ts|json)$/),
    bad: [
      ['domain/a.ts', "import { b } from '../store/b.ts';"],
      ['domain/rules/a.ts', "import type { b } from '../../proxy/limits/b.ts';"],
    ],
    good: [['domain/rules/a.ts', "import { b } from '../../schemas/formats/b.ts';"]],
  },
  {
    claim:
      'the schemas and the domain do no I/O; what generates the schemas reads and writes files, and one file reads them for the API description',
    check: never(/^(schemas\/(?!generate\/|openapi\/body-schemas\.ts$)|domain\/)/, /^node:(?!crypto$)/),
    bad: [
      ['schemas/a.ts', "import { readFileSync } from 'node:fs';"],
      ['schemas/openapi/a.ts', "import { readFileSync } from 'node:fs';"],
      ['domain/keys/a.ts', "import { hostname } from 'node:os';"],
    ],
    good: [
      ['domain/keys/a.ts', "import { hash } from 'node:crypto';"],
      ['schemas/generate/a.ts', "import { readFileSync } from 'node:fs';"],
      ['schemas/openapi/body-schemas.ts', "import { readFileSync } from 'node:fs';"],
    ],
  },
  {
    claim: 'the store imports itself, the domain and the schemas',
    check: never(/^store\//, /^(?!(store|domain|schemas)\/).*\.(ts|json)$/),
    bad: [
      ['store/a.ts', "import { b } from '../gitops/b.ts';"],
      ['store/state/a.ts', "import type { b } from '../../proxy/b.ts';"],
    ],
    good: [['store/state/a.ts', "import { b } from '../../schemas/b.ts';"]],
  },
  {
    claim: 'gitops imports itself, the store, the domain and the schemas',
    check: never(/^gitops\//, /^(?!(gitops|store|domain|schemas)\/).*\.(ts|json)$/),
    bad: [
      ['gitops/a.ts', "import { b } from '../plane/b.ts';"],
      ['gitops/a.ts', "import type { b } from '../control-plane/b.ts';"],
    ],
    good: [['gitops/a.ts', "import { b } from '../store/b.ts';"]],
  },
  {
    claim: 'what is the same for both planes imports neither',
    check: never(/^plane\//, /^(?!(plane|gitops|store|domain|schemas)\/).*\.(ts|json)$/),
    bad: [
      ['plane/a.ts', "import { b } from '../proxy/b.ts';"],
      ['plane/a.ts', "import type { b } from '../control-plane/b.ts';"],
    ],
    good: [['plane/a.ts', "import { b } from '../gitops/b.ts';"]],
  },
  {
    claim: 'what runs or imitates a plane starts it as a process',
    check: never(/^(deploy\/(?!build\.ts$)|examples\/)/, /^(proxy|control-plane)\//),
    bad: [
      ['deploy/local.ts', "import { b } from '../proxy/b.ts';"],
      ['deploy/demo-provider/a.ts', "import('../../control-plane/b.ts')"],
    ],
  },
  {
    claim: 'Fastify stays at the doors',
    check: livesIn(
      /^(fastify|@fastify\/[^/]+)(\/|$)/,
      /^((proxy|control-plane)\/server\.ts|proxy\/endpoints\/.+|control-plane\/(admin\/(.+\/)?|dashboard\/|managed\/)routes\.ts)$/,
    ),
    bad: [
      ['proxy/stages/a.ts', "import type { FastifyReply } from 'fastify';"],
      ['control-plane/admin/keys/list.ts', "import { fastify } from 'fastify';"],
      ['schemas/a.ts', "import cors from '@fastify/cors';"],
    ],
    good: [
      ['control-plane/admin/keys/routes.ts', "import type { FastifyPluginAsync } from 'fastify';"],
      ['control-plane/dashboard/routes.ts', "import type { FastifyPluginAsync } from 'fastify';"],
      ['control-plane/managed/routes.ts', "import type { FastifyPluginAsync } from 'fastify';"],
    ],
  },
  {
    claim:
      'the page of the dashboard imports itself and what a browser loads; of the contract and the domain types alone',
    check: (file) => [
      ...only(
        /^control-plane\/dashboard\/page\//,
        /^(control-plane\/dashboard\/page|schemas|domain)\/|^(preact(\/hooks)?|htm|uplot)$/,
      )(file),
      ...(file.path.startsWith('control-plane/dashboard/page/')
        ? standsIn(/^import (?!type\b)[^;]*'[^']*\/(schemas|domain)\//m, /^never$/)(file)
        : []),
    ],
    bad: [
      ['control-plane/dashboard/page/a.ts', "import { join } from 'node:path';"],
      ['control-plane/dashboard/page/pages/a.ts', "import type { b } from '../../../errors.ts';"],
      ['control-plane/dashboard/page/a.ts', "import { b } from '../../../schemas/b.ts';"],
    ],
    good: [
      [
        'control-plane/dashboard/page/a.ts',
        "import type { B } from '../../../schemas/types.ts';\nimport { h } from 'preact';\nimport { c } from './parts/c.ts';",
      ],
    ],
  },
  {
    claim: 'no process loads the page of the dashboard: a browser does',
    check: never(
      /^(?!control-plane\/dashboard\/page\/)/,
      /^control-plane\/dashboard\/page\/|^(preact|htm|uplot)(\/|$)/,
    ),
    bad: [
      ['control-plane/dashboard/routes.ts', "import { go } from './page/router.ts';"],
      ['proxy/a.ts', "import { h } from 'preact';"],
    ],
  },
  {
    claim: 'undici stays upstream',
    check: livesIn(/^undici(\/|$)/, /^proxy\/upstream\//),
    bad: [
      ['proxy/providers/a.ts', "import { Pool } from 'undici';"],
      ['control-plane/a.ts', "import type { Pool } from 'undici';"],
    ],
  },
  {
    claim: 'undici is loaded in one file',
    check: standsIn(/^import (?!type\b).*'undici['/]/m, /^proxy\/upstream\/undici\.ts$/),
    bad: [['proxy/upstream/pools.ts', "import { Pool } from 'undici';"]],
    good: [['proxy/upstream/pools.ts', "import type { Pool } from 'undici';"]],
  },
  {
    claim: 'requests to AWS are signed in one file',
    check: livesIn(/^aws4(\/|$)/, /^proxy\/upstream\/(sign-aws|aws4-files\.d)\.ts$/),
    bad: [
      ['proxy/upstream/forward.ts', "import aws4 from 'aws4';"],
      ['proxy/dialects/bedrock/a.ts', "import aws4 from 'aws4';"],
    ],
    good: [['proxy/upstream/sign-aws.ts', "import aws4 from 'aws4';"]],
  },
  {
    claim:
      'the gateway speaks WebSocket in two files, one for each side; examples and the demo provider play its client and its provider',
    check: livesIn(
      /^ws(\/|$)/,
      /^proxy\/(http\/accept-web-socket|upstream\/(dial\/dial-web-socket|ws-files\.d))\.ts$|^(examples|deploy\/demo-provider|test)\//,
    ),
    bad: [
      ['proxy/realtime/session.ts', "import type { WebSocket } from 'ws';"],
      ['proxy/server.ts', "import { WebSocketServer } from 'ws';"],
      ['control-plane/a.ts', "import { WebSocket } from 'ws';"],
    ],
    good: [
      ['proxy/upstream/dial/dial-web-socket.ts', "import { WebSocket } from 'ws';"],
      ['examples/a/b.ts', "import { WebSocket } from 'ws';"],
    ],
  },
  {
    claim: 'databases stay in the store',
    check: livesIn(/^(ioredis|node:sqlite|pg)(\/|$)/, /^store\//),
    bad: [
      ['proxy/limits/a.ts', "import { Redis } from 'ioredis';"],
      ['domain/rules/a.ts', "import { DatabaseSync } from 'node:sqlite';"],
      ['control-plane/store/a.ts', "import pg from 'pg';"],
    ],
  },
  {
    claim: 'how answers lie in memory is known to their cache alone',
    check: livesIn(/^store\/cache\/(segments?|place-table)\.ts$/, /^(test\/)?store\/cache\//),
    bad: [
      ['proxy/cache/a.ts', "import { Segments } from '../../store/cache/segments.ts';"],
      ['store/records/a.ts', "import { PlaceTable } from '../cache/place-table.ts';"],
    ],
    good: [['store/cache/memory.ts', "import { PlaceTable } from './place-table.ts';"]],
  },
  {
    claim: 'only one file watches the disk',
    check: livesIn(/^chokidar(\/|$)/, /^gitops\/follow\/watch\.ts$/),
    bad: [['gitops/follow/follow.ts', "import { watch } from 'chokidar';"]],
  },
  {
    claim: 'the metrics package is loaded in one file',
    check: livesIn(/^prom-client(\/|$)/, /^plane\/prom(etheus|-client-files\.d)\.ts$/),
    bad: [
      ['proxy/metrics/metrics.ts', "import { Counter } from 'prom-client';"],
      ['proxy/metrics/metrics.ts', "import Gauge from 'prom-client/lib/gauge.js';"],
    ],
  },
  {
    claim: 'OpenTelemetry is loaded in one file, and that file only where it is asked for',
    check: (file) => [
      ...livesIn(/^@opentelemetry\//, /^proxy\/records\/spans\/exporting\.ts$/)(file),
      ...standsIn(/^import [^;]*'[^']*\/exporting\.ts'/m, /^never$/)(file),
    ],
    bad: [
      ['proxy/records/spans/spans.ts', "import type { ReadableSpan } from '@opentelemetry/sdk-trace';"],
      ['proxy/boot/open-telemetry.ts', "import { exportTraces } from './telemetry/exporting.ts';"],
    ],
    good: [
      ['proxy/records/spans/exporting.ts', "import { trace } from '@opentelemetry/api';"],
      ['proxy/boot/open-telemetry.ts', "const { exportTraces } = await import('./telemetry/exporting.ts');"],
    ],
  },
  {
    claim: 'metrics are made in files named metrics',
    check: livesIn(/^plane\/prometheus\.ts$/, /^(proxy\/metrics\/|control-plane\/|plane\/tls\/)([a-z]+-)?metrics\.ts$/),
    bad: [['proxy/stages/settle.ts', "import { Counter } from '../../plane/prometheus.ts';"]],
  },
  {
    claim: 'YAML is read where the config is',
    check: livesIn(/^yaml(\/|$)/, /^gitops\//),
    bad: [['proxy/snapshot/compile.ts', "import { parse } from 'yaml';"]],
  },
  {
    claim: 'JSON Schemas are applied, and words guessed, in one room',
    check: livesIn(/^(ajv|leven)(\/|$)/, /^schemas\/validation\//),
    bad: [
      ['gitops/read/validate.ts', "import { Ajv2020 } from 'ajv/dist/2020.js';"],
      ['control-plane/admin/a.ts', "import leven from 'leven';"],
    ],
  },
  {
    claim: 'kinds of managed documents are named in their registry alone',
    check: standsIn(
      // 'rate_limit' is also a reason to retry.
      /'(auth_key|cache_reset|reset_epoch|virtual_model)'|kinds?\b\W{0,5}'rate_limit'|\b(authKey|manualAlias|manualRule|resetEpoch)Kind\b/,
      /^domain\/(aliases|cache|documents|keys|rules)\//,
    ),
    bad: [
      ['proxy/snapshot/a.ts', "const kinds = ['auth_key'];"],
      ['proxy/snapshot/a.ts', "const kinds = ['rate_limit'];"],
      ['control-plane/admin/a.ts', "import { authKeyKind } from '../../domain/keys/auth-key.ts';"],
    ],
    good: [['control-plane/admin/a.ts', "import { managedKeys } from '../../domain/documents/kinds.ts';"]],
  },
  {
    claim: 'no file imports a main.ts, which alone connects the parts',
    check: never(/./, /(^|\/)main\.ts$/),
    bad: [['proxy/server.ts', "import { b } from './main.ts';"]],
  },
];
