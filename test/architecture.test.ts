// The house rules as code: who may import what, where clock and environment live, how files are named. Every rule proves that it can fail.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join, posix, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'tap';

const top = join(import.meta.dirname, '..');

/** A file of the repository: path from its top, with slashes, and content. */
interface File {
  readonly path: string;
  readonly text: string;
}

/** What is wrong with one file, in words; empty when nothing is. */
type Check = (file: File) => string[];

interface Rule {
  readonly claim: string;
  readonly check: Check;
  /** Files that break the rule: path, then text. */
  readonly bad: readonly (readonly [path: string, text: string])[];
  /** Files that come close, yet keep it. */
  readonly good?: readonly (readonly [path: string, text: string])[];
}

// --- reading a file ---------------------------------------------------------------------------------------------------

const importShapes = [
  /^[ \t]*(?:import|export)\s+[\w$\s{},*]*?\bfrom\s*['"]([^'"]+)['"]/gm,
  /^[ \t]*import\s*['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"`]([^'"`]+)['"`]/g,
  /\bnew URL\(\s*['"]([^'"]+\.ts)['"],\s*import\.meta\.url/g,
];

/** Everything a file imports, in any form (types, re-exports, dynamic, worker entries): paths from the top, or package names. */
function importsOf({ path, text }: File): string[] {
  const found = importShapes.flatMap((shape) => [...text.matchAll(shape)].map((match) => match[1] ?? ''));
  return found.map((name) => {
    const ours = name.startsWith('.') || extname(name) === '.ts';
    return ours ? posix.join(posix.dirname(path), name) : name;
  });
}

/** The text without comments, so that words about a thing are not the thing. */
function codeOf(text: string): string {
  return text.replace(/^[ \t]*\/\*[\s\S]*?\*\//gm, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}

/** `fastify` of `fastify/lib/x`, `@a/b` of `@a/b/c`; undefined for files and for node's own modules. */
function packageOf(name: string): string | undefined {
  if (/\.(ts|json)$|^node:|^schemas\/validation\/generated\//.test(name)) return undefined;
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');
}

/** Functions and methods by the formatter's layout: each ends with the first brace that stands as far in as its first line. */
function functionsOf(text: string): { readonly at: number; readonly lines: number }[] {
  const lines = text.split('\n');
  const indentOf = (line = ''): number => line.search(/\S/);
  return lines.flatMap((line, index) => {
    if (!/(=>|\)|\): .*) \{$/.test(line) || /^\s*(\} )?(else|if|for|while|switch|catch)\b/.test(line)) return [];
    const indent = indentOf(line);
    // A head of several lines ends with its parenthesis as far in as it begins.
    const head = lines.slice(0, index);
    const first = /^\s*\)/.test(line) ? head.findLastIndex((before) => indentOf(before) === indent) : index;
    const length = lines
      .slice(index + 1)
      .findIndex((after) => indentOf(after) === indent && after.trim().startsWith('}'));
    return length === -1 ? [] : [{ at: first + 1, lines: index + length + 2 - first }];
  });
}

// --- makers of checks ---------------------------------------------------------------------------------------------------

/** What matches `wanted` may be imported only by files whose path matches `home`. */
function livesIn(wanted: RegExp, home: RegExp): Check {
  return (file) =>
    home.test(file.path)
      ? []
      : importsOf(file)
          .filter((name) => wanted.test(name))
          .map((name) => `imports ${name}`);
}

/** Files whose path matches `room` import nothing that matches `forbidden`. */
function never(room: RegExp, forbidden: RegExp): Check {
  return (file) =>
    room.test(file.path)
      ? importsOf(file)
          .filter((name) => forbidden.test(name))
          .map((name) => `imports ${name}`)
      : [];
}

/** Files whose path matches `room` import only what matches `allowed`. */
function only(room: RegExp, allowed: RegExp): Check {
  return (file) =>
    room.test(file.path)
      ? importsOf(file)
          .filter((name) => !allowed.test(name))
          .map((name) => `imports ${name}`)
      : [];
}

/** Code (not comments) that matches `pattern` stands only in files whose path matches `home`. */
function standsIn(pattern: RegExp, home: RegExp): Check {
  return ({ path, text }) => {
    const found = home.test(path) ? undefined : pattern.exec(codeOf(text))?.[0];
    return found === undefined ? [] : [`says ${found.trim()}`];
  };
}

const mains = /^(proxy|control-plane)\/main\.ts$/;
const bannedNames = new Set(
  'util utils common shared helper helpers misc base core lib manager service handler factory types'.split(' '),
);
const manifest = JSON.parse(readFileSync(join(top, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'devDependencies' | 'scripts',
  Record<string, string>
>;

// --- the law ------------------------------------------------------------------------------------------------------------

const rules: Rule[] = [
  {
    claim: 'the data plane imports itself and the rooms below the planes, nothing else of ours',
    check: never(/^proxy\//, /^(?!(proxy|plane|gitops|store|schemas)\/).*\.(ts|json)$/),
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
    ],
  },
  {
    claim: 'the control plane imports itself and the rooms below the planes, nothing else of ours',
    check: never(/^control-plane\//, /^(?!(control-plane|plane|gitops|store|schemas)\/|package\.json$).*\.(ts|json)$/),
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
      ['schemas/rules/a.ts', "import type { b } from '../../store/b.ts';"],
    ],
    good: [['schemas/rules/a.ts', "import { b } from '../keys/b.ts';"]],
  },
  {
    claim: 'the schemas do no I/O',
    check: never(/^schemas\//, /^node:(?!crypto$)/),
    bad: [
      ['schemas/a.ts', "import { readFileSync } from 'node:fs';"],
      ['schemas/keys/a.ts', "import { hostname } from 'node:os';"],
    ],
    good: [['schemas/keys/a.ts', "import { hash } from 'node:crypto';"]],
  },
  {
    claim: 'the store imports itself and the schemas',
    check: never(/^store\//, /^(?!(store|schemas)\/).*\.(ts|json)$/),
    bad: [
      ['store/a.ts', "import { b } from '../gitops/b.ts';"],
      ['store/state/a.ts', "import type { b } from '../../proxy/b.ts';"],
    ],
    good: [['store/state/a.ts', "import { b } from '../../schemas/b.ts';"]],
  },
  {
    claim: 'gitops imports itself, the store and the schemas',
    check: never(/^gitops\//, /^(?!(gitops|store|schemas)\/).*\.(ts|json)$/),
    bad: [
      ['gitops/a.ts', "import { b } from '../plane/b.ts';"],
      ['gitops/a.ts', "import type { b } from '../control-plane/b.ts';"],
    ],
    good: [['gitops/a.ts', "import { b } from '../store/b.ts';"]],
  },
  {
    claim: 'what is the same for both planes imports neither',
    check: never(/^plane\//, /^(?!(plane|gitops|store|schemas)\/).*\.(ts|json)$/),
    bad: [
      ['plane/a.ts', "import { b } from '../proxy/b.ts';"],
      ['plane/a.ts', "import type { b } from '../control-plane/b.ts';"],
    ],
    good: [['plane/a.ts', "import { b } from '../gitops/b.ts';"]],
  },
  {
    claim: 'what runs or imitates a plane starts it as a process',
    check: never(/^(deploy|examples)\//, /^(proxy|control-plane)\//),
    bad: [
      ['deploy/local.ts', "import { b } from '../proxy/b.ts';"],
      ['examples/quickstart/a.ts', "import('../../control-plane/b.ts')"],
    ],
  },
  {
    claim: 'Fastify stays at the doors',
    check: livesIn(
      /^(fastify|@fastify\/[^/]+)(\/|$)/,
      /^((proxy|control-plane)\/server\.ts|proxy\/endpoints\/.+|control-plane\/admin\/(.+\/)?routes\.ts)$/,
    ),
    bad: [
      ['proxy/stages/a.ts', "import type { FastifyReply } from 'fastify';"],
      ['control-plane/admin/keys/list.ts', "import { fastify } from 'fastify';"],
      ['schemas/a.ts', "import cors from '@fastify/cors';"],
    ],
    good: [['control-plane/admin/keys/routes.ts', "import type { FastifyPluginAsync } from 'fastify';"]],
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
    claim: 'databases stay in the store',
    check: livesIn(/^(ioredis|node:sqlite|pg)(\/|$)/, /^store\//),
    bad: [
      ['proxy/limits/a.ts', "import { Redis } from 'ioredis';"],
      ['schemas/rules/a.ts', "import { DatabaseSync } from 'node:sqlite';"],
      ['control-plane/store/a.ts', "import pg from 'pg';"],
    ],
  },
  {
    claim: 'only one file watches the disk',
    check: livesIn(/^chokidar(\/|$)/, /^gitops\/watch\.ts$/),
    bad: [['gitops/follow.ts', "import { watch } from 'chokidar';"]],
  },
  {
    claim: 'the metrics package is loaded in one file',
    check: livesIn(/^prom-client(\/|$)/, /^plane\/prom(etheus|-client-files\.d)\.ts$/),
    bad: [
      ['proxy/metrics.ts', "import { Counter } from 'prom-client';"],
      ['proxy/metrics.ts', "import Gauge from 'prom-client/lib/gauge.js';"],
    ],
  },
  {
    claim: 'metrics are made in metrics.ts',
    check: livesIn(/^plane\/prometheus\.ts$/, /^(proxy|control-plane)\/([a-z]+-)?metrics\.ts$/),
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
      ['gitops/validate.ts', "import { Ajv2020 } from 'ajv/dist/2020.js';"],
      ['control-plane/admin/a.ts', "import leven from 'leven';"],
    ],
  },
  {
    claim: 'kinds of managed documents are named in their registry alone',
    check: standsIn(
      /'(auth_key|rate_limit|reset_epoch)'|\b(authKey|manualRule|resetEpoch)Kind\b/,
      /^schemas\/(documents|keys|rules)\//,
    ),
    bad: [
      ['proxy/snapshot/a.ts', "const kinds = ['auth_key'];"],
      ['control-plane/admin/a.ts', "import { authKeyKind } from '../../schemas/keys/auth-key.ts';"],
    ],
    good: [['control-plane/admin/a.ts', "import { managedKeys } from '../../schemas/documents/kinds.ts';"]],
  },
  {
    claim: 'arithmetic imports no package and no node module',
    check: only(
      /^(proxy\/limits\/|schemas\/rules\/|schemas\/(user-path|selector)\.ts$)/,
      /^(proxy\/limits|schemas\/rules)\/|^schemas\/(user-path|selector|types)\.ts$/,
    ),
    bad: [
      ['proxy/limits/a.ts', "import { hash } from 'node:crypto';"],
      ['proxy/limits/a.ts', "import type { Snapshot } from '../snapshot/snapshot.ts';"],
      ['schemas/rules/a.ts', "import leven from 'leven';"],
      ['schemas/user-path.ts', "import 'node:path';"],
      ['schemas/selector.ts', "import { b } from './config/read.ts';"],
    ],
    good: [['schemas/rules/a.ts', "import type { Limit } from '../types.ts';"]],
  },
  {
    claim: 'dialects translate and nothing else: no sockets, no stages, no limits',
    check: never(
      /^proxy\/dialects\//,
      /^(node:(http|https|net|tls|fs)|fastify$|proxy\/(?!dialects\/|bytes\/|call\/|tokens\/))/,
    ),
    bad: [
      ['proxy/dialects/a.ts', "import { b } from '../stages/b.ts';"],
      ['proxy/dialects/openai/a.ts', "import { connect } from 'node:net';"],
    ],
    good: [['proxy/dialects/openai/a.ts', "import { b } from '../../tokens/b.ts';"]],
  },
  {
    claim: 'bytes have no meaning: scanning and cutting know nothing of ours',
    check: only(/^proxy\/bytes\//, /^proxy\/bytes\/|^node:buffer$/),
    bad: [
      ['proxy/bytes/a.ts', "import { b } from '../dialects/b.ts';"],
      ['proxy/bytes/a.ts', "import type { Refusal } from '../errors.ts';"],
    ],
    good: [['proxy/bytes/a.ts', "import { b } from './b.ts';"]],
  },
  {
    claim: 'upstream speaks HTTP and knows no dialect',
    check: never(/^proxy\/upstream\//, /^proxy\/(dialects|providers|tokens|snapshot|limits)\//),
    bad: [['proxy/upstream/a.ts', "import { b } from '../dialects/b.ts';"]],
  },
  {
    claim: 'an answer is a value: relaying knows neither who made it nor what a tap does',
    check: never(
      /^proxy\/(answer|stages\/relay|connection\/client-sink)\.ts$/,
      /^proxy\/(upstream|providers|dialects|tokens)\//,
    ),
    bad: [
      ['proxy/answer.ts', "import type { Failure } from './upstream/failure.ts';"],
      ['proxy/stages/relay.ts', "import { UsageTap } from '../tokens/usage-tap.ts';"],
    ],
    good: [['proxy/stages/relay.ts', "import type { Answer } from '../answer.ts';"]],
  },
  {
    claim: 'a stage knows no door and no store',
    check: never(/^proxy\/stages\//, /^proxy\/(endpoints|store)\/|^proxy\/(server|pipeline)\.ts$/),
    bad: [['proxy/stages/a.ts', "import { b } from '../endpoints/b.ts';"]],
  },
  {
    claim: 'a door knows no store and no upstream',
    check: never(/^proxy\/endpoints\//, /^proxy\/(store|upstream)\/|^proxy\/server\.ts$/),
    bad: [['proxy/endpoints/a.ts', "import { b } from '../store/b.ts';"]],
  },
  {
    claim: 'the forwarding of /admin is a trip of its own and knows nothing of the line',
    check: never(
      /^proxy\/admin\//,
      /^proxy\/(stages|endpoints|limits|dialects|providers)\/|^proxy\/(server|pipeline)\.ts$/,
    ),
    bad: [
      ['proxy/admin/a.ts', "import { b } from '../stages/b.ts';"],
      ['proxy/admin/a.ts', "import type { b } from '../stages/b.ts';"],
      ['proxy/admin/a.ts', "import { serve } from '../pipeline.ts';"],
    ],
    good: [['proxy/admin/a.ts', "import { b } from '../connection/b.ts';"]],
  },
  {
    claim: 'the rooms below the line know nothing of the line',
    check: never(
      /^proxy\/(bytes|call|connection|dialects|limits|providers|snapshot|store|tokens|upstream)\//,
      /^proxy\/(stages|endpoints)\/|^proxy\/(server|pipeline|gateway)\.ts$/,
    ),
    bad: [
      ['proxy/upstream/a.ts', "import { b } from '../stages/b.ts';"],
      ['proxy/connection/a.ts', "import type { Gateway } from '../gateway.ts';"],
    ],
  },
  {
    claim: 'a store imports no sibling room',
    check: never(/^(proxy|control-plane)\/store\//, /^(proxy|control-plane)\/(?!store\/)/),
    bad: [['proxy/store/a.ts', "import { b } from '../limits/b.ts';"]],
  },
  {
    claim: 'only main.ts wires: nobody imports one',
    check: never(/./, /(^|\/)main\.ts$/),
    bad: [['proxy/server.ts', "import { b } from './main.ts';"]],
  },
  {
    claim: 'every import names what it means: literal, with its ending, no require',
    check: (file) => {
      const code = codeOf(file.text);
      const odd = /\bimport\(\s*[^'"`\s]|\bimport\(\s*`[^`]*\$\{|\brequire\(|\bcreateRequire\b/.exec(code)?.[0];
      const bare = importsOf(file).filter((name) =>
        /^(fs|path|http|https|net|crypto|os|url|util|events|stream)$/.test(name),
      );
      return [...(odd === undefined ? [] : [`says ${odd}`]), ...bare.map((name) => `imports ${name} without node:`)];
    },
    bad: [
      ['proxy/a.ts', 'const b = await import(name);'],
      ['proxy/a.ts', "const b = require('b');"],
      ['proxy/a.ts', "import { join } from 'path';"],
    ],
  },
  {
    claim: 'every package is a declared dependency',
    check: (file) =>
      importsOf(file)
        .map(packageOf)
        .filter((name) => name !== undefined && !(name in manifest.dependencies))
        .filter((name) => !(file.path === 'gitops/generate-types.ts' && (name ?? '') in manifest.devDependencies))
        .map((name) => `imports ${name}`),
    bad: [
      ['proxy/a.ts', "import fc from 'fast-check';"],
      ['deploy/a.ts', "import { b } from 'left-pad/b';"],
    ],
    good: [['schemas/validation/a.ts', "import ajv from 'ajv/dist/2020.js';\nimport { b } from 'node:fs/promises';"]],
  },
  {
    claim: 'the environment is read in environment.ts',
    check: standsIn(
      /\bprocess\s*\??\.\s*env\b|\bprocess\s*\[|\{[^}]*\benv\b[^}]*\}\s*=\s*process\b|from 'node:process'/,
      /^((proxy|control-plane)\/environment\.ts|gitops\/check\.ts|(deploy|examples)\/.+)$/,
    ),
    bad: [
      ['proxy/main.ts', 'const port = process.env.PORT;'],
      ['schemas/a.ts', "const port = process['env'];"],
      ['proxy/a.ts', 'const { env } = process;'],
      ['proxy/a.ts', "import { env } from 'node:process';"],
    ],
    good: [['proxy/a.ts', '// process.env is read elsewhere\nprocess.exit(1);']],
  },
  {
    claim: 'the clock is read in main.ts',
    check: standsIn(
      /\bDate\b|\bperformance\b|\bprocess\.(hrtime|uptime)\b|node:perf_hooks/,
      /^((proxy|control-plane)\/main\.ts|schemas\/timestamp\.ts|(deploy|examples)\/.+)$/,
    ),
    bad: [
      ['proxy/stages/a.ts', 'const now = Date.now();'],
      ['control-plane/server.ts', 'const now = new Date();'],
      ['schemas/a.ts', 'const now = performance.now();'],
      ['proxy/a.ts', 'const now = process.hrtime.bigint();'],
    ],
    good: [['proxy/a.ts', '// The Date header\nconst update = lastUpdate;']],
  },
  {
    claim: 'a source file has at most 250 lines, the line itself 80',
    check: ({ path, text }) => {
      const cap = path === 'proxy/pipeline.ts' ? 80 : 250;
      const lines = text.replace(/\n$/, '').split('\n').length;
      return path === 'schemas/types.ts' || lines <= cap ? [] : [`has ${lines} lines of ${cap}`];
    },
    bad: [
      ['proxy/a.ts', '// a\n'.repeat(251)],
      ['proxy/pipeline.ts', '// a\n'.repeat(81)],
    ],
    good: [
      ['proxy/a.ts', '// a\n'.repeat(250)],
      ['schemas/types.ts', '// a\n'.repeat(900)],
    ],
  },
  {
    claim: 'a function has at most 80 lines',
    check: ({ text }) =>
      functionsOf(text)
        .filter(({ lines }) => lines > 80)
        .map(({ at, lines }) => `has a function of ${lines} lines at ${at}`),
    bad: [
      ['proxy/a.ts', `function a(): void {\n${'  b();\n'.repeat(79)}}\n`],
      ['proxy/a.ts', `const a = {\n  async b(c) {\n${'    d();\n\n'.repeat(40)}  },\n};\n`],
      ['proxy/a.ts', `class A {\n  b = (c: string): void => {\n${'    d(c);\n'.repeat(79)}  };\n}\n`],
      ['proxy/a.ts', `function a(\n  b: string,\n): Promise<{ c: string }> {\n${'  d();\n'.repeat(77)}}\n`],
    ],
    good: [
      ['proxy/a.ts', `function a(): void {\n${'  b();\n'.repeat(78)}}\n`],
      ['proxy/a.ts', `const a = {\n${'  b: 1,\n'.repeat(90)}};\n`],
      ['proxy/a.ts', 'function a(): void {\n  b();\n}\n\n'.repeat(30)],
    ],
  },
  {
    claim: 'a name says what is inside: lower case, hyphens, no word that fits everything',
    check: ({ path }) => {
      const parts = path.split('/').map((part) => part.replace(/(\.test|\.d)?\.ts$/, ''));
      const banned = parts.flatMap((part) => part.split('-')).filter((word) => bannedNames.has(word));
      const allowed = ['schemas/types.ts', 'gitops/generate-types.ts'].includes(path);
      const odd = parts.filter((part) => !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(part));
      return [
        ...(allowed ? [] : banned.map((word) => `is named ${word}`)),
        ...odd.map((part) => `has ${part} in its path`),
      ];
    },
    bad: [
      ['proxy/utils.ts', ''],
      ['proxy/helpers/a.ts', ''],
      ['proxy/error-handler.ts', ''],
      ['proxy/types.ts', ''],
      ['proxy/readHead.ts', ''],
      ['proxy/Server.ts', ''],
    ],
    good: [['schemas/types.ts', '']],
  },
  {
    claim: 'index.ts is a list in three rooms and never a barrel',
    check: ({ path, text }) => [
      ...(basename(path) !== 'index.ts' || /^(proxy\/(endpoints|providers)|control-plane\/admin)\/index\.ts$/.test(path)
        ? []
        : ['is an index']),
      ...(/^\s*export\s+(type\s+)?(\*|\{[^}]*\}\s*from\b)/m.test(text) && basename(path) === 'index.ts'
        ? ['is a barrel']
        : []),
    ],
    bad: [
      ['proxy/stages/index.ts', ''],
      ['proxy/endpoints/index.ts', "export * from './a.ts';"],
      ['proxy/providers/index.ts', "export { a } from './a.ts';"],
    ],
  },
  {
    claim: 'exports have names',
    check: standsIn(/^\s*export\s+default\b|\bas\s+default\b|\bmodule\.exports\b/m, /-files\.d\.ts$/),
    bad: [
      ['proxy/a.ts', 'export default 1;'],
      ['proxy/a.ts', 'export { a as default };'],
    ],
    good: [['proxy/a.ts', "import fastify from 'fastify';"]],
  },
  {
    claim: 'the first line says why the file exists',
    check: ({ text }) => (/^\/\/ \S.{15,}/.test(text) ? [] : ['does not begin with a comment']),
    bad: [
      ['proxy/a.ts', "import { b } from './b.ts';"],
      ['proxy/a.ts', '//\n'],
      ['proxy/a.ts', '\n// Why this exists, on the second line.'],
    ],
  },
  {
    claim: 'nothing is left for later',
    check: ({ text }) => {
      const found = /\b(TODO|FIXME|XXX|HACK)\b|not (yet )?implemented/.exec(text)?.[0];
      return found === undefined ? [] : [`says ${found}`];
    },
    bad: [
      ['proxy/a.ts', '// TODO: finish'],
      ['proxy/a.ts', '// FIXME'],
    ],
  },
  {
    claim: 'no checker is silenced',
    check: ({ text }) => {
      const found = /@ts-(ignore|expect-error|nocheck)|(biome|oxlint|eslint)-(ignore|disable)|\bas any\b/.exec(
        text,
      )?.[0];
      return found === undefined ? [] : [`says ${found}`];
    },
    bad: [
      ['proxy/a.ts', '// @ts-ignore'],
      ['proxy/a.ts', '// biome-ignore lint: no'],
      ['proxy/a.ts', 'const a = b as any;'],
    ],
  },
  {
    claim: 'certificates of providers are always verified',
    check: ({ text }) => {
      const found = /rejectUnauthorized|NODE_TLS_REJECT_UNAUTHORIZED|checkServerIdentity/.exec(text)?.[0];
      return found === undefined ? [] : [`says ${found}`];
    },
    bad: [
      ['proxy/upstream/pools.ts', 'new Pool(origin, { connect: { rejectUnauthorized: false } });'],
      ['deploy/local.ts', "const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };"],
    ],
  },
];

// --- the house ----------------------------------------------------------------------------------------------------------

/** Every TypeScript file below the rooms, tests excepted. */
function sources(): File[] {
  const rooms = ['schemas', 'store', 'gitops', 'plane', 'proxy', 'control-plane', 'deploy', 'examples'];
  return rooms
    .flatMap((room) => typescriptBelow(join(top, room)))
    .map((path) => ({
      path: relative(top, path).replaceAll('\\', '/'),
      text: readFileSync(path, 'utf8'),
    }));
}

function typescriptBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The first way round in which files import each other, types included; undefined when there is none. */
function cycleIn(files: readonly File[]): string | undefined {
  const graph = new Map(files.map((file) => [file.path, importsOf(file)]));
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): string | undefined => {
    if (way.includes(path)) return [...way.slice(way.indexOf(path)), path].join(' → ');
    if (done.has(path)) return undefined;
    for (const next of graph.get(path) ?? []) {
      const cycle = visit(next, [...way, path]);
      if (cycle !== undefined) return cycle;
    }
    done.add(path);
    return undefined;
  };
  for (const path of graph.keys()) {
    const cycle = visit(path, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

/** The files with their room in place of their path: `proxy/limits` for what lies there, the file itself for what lies beside the rooms. */
function roomsOf(all: readonly File[]): File[] {
  const roomOf = (path: string): string => path.split('/').slice(0, 2).join('/');
  const rooms = new Map<string, Set<string>>();
  for (const file of all) {
    const room = roomOf(file.path);
    const others = importsOf(file)
      .filter((name) => name.endsWith('.ts'))
      .map(roomOf)
      .filter((other) => other !== room);
    rooms.set(room, new Set([...(rooms.get(room) ?? []), ...others]));
  }
  return [...rooms].map(([path, others]) => ({
    path,
    text: [...others].map((other) => `import './${posix.relative(posix.dirname(path), other)}';`).join('\n'),
  }));
}

const entriesAtTop = new Set(
  'package.json package-lock.json tsconfig.json biome.json README.md LICENSE schemas store gitops plane proxy control-plane examples deploy test'.split(
    ' ',
  ),
);

/** Tracked paths whose first part has no place at the top. */
function strayAtTop(tracked: readonly string[]): string[] {
  const first = new Set(tracked.map((path) => path.split('/')[0] ?? ''));
  return [...first].filter((name) => !name.startsWith('.') && !entriesAtTop.has(name));
}

interface Lock {
  readonly packages: Record<string, { readonly version?: string; readonly resolved?: string; readonly link?: boolean }>;
}

/** Packages that would come from somewhere other than the registry the installing machine uses. */
function pinnedHosts({ packages }: Lock): string[] {
  return Object.entries(packages)
    .filter(([, { version = '', resolved, link }]) => resolved !== undefined || link || /[:/]/.test(version))
    .map(([name]) => name);
}

/** What is wrong with an example: a name, and its files' paths from its own folder. */
function exampleProblems(name: string, files: readonly string[]): string[] {
  const yaml = files.filter((file) => /\.ya?ml$/.test(file));
  return [
    ...(files.includes('README.md') ? [] : [`${name} has no README.md`]),
    ...(yaml.some((file) => dirname(file) === 'config') ? [] : [`${name} has no config/*.yaml`]),
    ...yaml.filter((file) => dirname(file) !== 'config').map((file) => `${name}/${file} is loaded by nothing`),
  ];
}

const files = sources();

for (const { claim, check, bad, good = [] } of rules) {
  await test(claim, async (t) => {
    t.same(
      files.flatMap((file) => check(file).map((problem) => `${file.path} ${problem}`)),
      [],
    );
    for (const [path, text] of bad)
      t.not(check({ path, text }).length, 0, `must be refused: ${path}: ${text.slice(0, 60)}`);
    for (const [path, text] of good)
      t.same(check({ path, text }), [], `must be allowed: ${path}: ${text.slice(0, 60)}`);
  });
}

await test('the law is applied to the files that are there', async (t) => {
  for (const path of [
    'proxy/main.ts',
    'proxy/upstream/send.ts',
    'control-plane/main.ts',
    'gitops/watch.ts',
    'deploy/local.ts',
  ]) {
    t.ok(
      files.some((file) => file.path === path),
      path,
    );
  }
  const imported = files.flatMap(importsOf).filter((name) => name.endsWith('.ts'));
  t.ok(imported.length > 100);
  t.same(
    imported.filter((name) => !existsSync(join(top, name))),
    [],
    'every import leads to a file',
  );
});

await test('no file imports itself by a detour', async (t) => {
  t.equal(cycleIn(files), undefined);
  const a = { path: 'proxy/a.ts', text: "import { b } from './b.ts';" };
  const b = { path: 'proxy/b.ts', text: "import type { c } from './stages/c.ts';" };
  const c = { path: 'proxy/stages/c.ts', text: "export { a } from '../a.ts';" };
  t.equal(cycleIn([a, b, c]), 'proxy/a.ts → proxy/b.ts → proxy/stages/c.ts → proxy/a.ts');
  t.equal(cycleIn([a, b]), undefined);
});

await test('no room of a plane imports another one that imports it', async (t) => {
  const planes = files.filter(({ path }) => /^(proxy|control-plane)\//.test(path));
  t.equal(cycleIn(roomsOf(planes)), undefined);
  const a = { path: 'proxy/stages/a.ts', text: "import { b } from '../gateway.ts';" };
  const b = { path: 'proxy/gateway.ts', text: "import type { c } from './stages/c.ts';" };
  t.equal(cycleIn(roomsOf([a, b])), 'proxy/stages → proxy/gateway.ts → proxy/stages');
  t.equal(cycleIn(roomsOf([a])), undefined);
});

/** The files of ours that are type-checked together: `tsc -p <project>`. */
function checkedBy(project: string): string[] {
  const tsc = join(top, 'node_modules/typescript/bin/tsc');
  const listed = execFileSync(process.execPath, [tsc, '-p', project, '--listFilesOnly'], {
    cwd: top,
    encoding: 'utf8',
  });
  return listed.split('\n').map((path) => relative(top, path).replaceAll('\\', '/'));
}

await test('a plane is type-checked without the other one and its Fastify decorations', async (t) => {
  const doors = ['proxy/server.ts', 'control-plane/server.ts'];
  const of = (project: string): string[] => checkedBy(project).filter((path) => doors.includes(path));
  t.same(of('proxy'), ['proxy/server.ts']);
  t.same(of('control-plane'), ['control-plane/server.ts']);
  t.same(of('.').sort(), doors.toSorted(), 'tests see both');
  t.match(manifest.scripts['types'], /-p proxy .*-p control-plane$/);
});

await test('a parameter list ends at four: the linter refuses a fifth name', async (t) => {
  // The rule is Biome's, and covers every file; what is shown here is that it is in force.
  const folder = mkdtempSync(join(tmpdir(), 'parameters-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const shapes = { function: 'export function f(LIST) {}', arrow: 'export const f = (LIST) => {};' };
  const lists = { four: 'a, b, c, d', five: 'a, b, c, d, e' };
  for (const [shape, code] of Object.entries(shapes)) {
    for (const [count, list] of Object.entries(lists))
      writeFileSync(join(folder, `${shape}-${count}.ts`), code.replace('LIST', list));
  }
  const biome = [
    join(top, 'node_modules/@biomejs/biome/bin/biome'),
    'lint',
    `--config-path=${top}`,
    '--diagnostic-level=error',
    '--reporter=github',
  ];
  const { stdout } = spawnSync(process.execPath, [...biome, '.'], { cwd: folder, encoding: 'utf8' });
  const refused = new Set([...stdout.matchAll(/useMaxParams,file=[^,]*?([\w-]+)\.ts,/g)].map((match) => match[1]));
  t.same(refused, new Set(['arrow-five', 'function-five']), stdout);
});

await test('the top level has its nine rooms and no clutter', async (t) => {
  const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: top, encoding: 'utf8' }).split('\0').filter(Boolean);
  t.same(strayAtTop(tracked), []);
  t.same(strayAtTop(['src/a.ts', 'README.md', '.gitignore', 'proxy/a.ts', 'scratch.ts']), ['src', 'scratch.ts']);
});

await test('the lock file names no host', async (t) => {
  t.same(pinnedHosts(JSON.parse(readFileSync(join(top, 'package-lock.json'), 'utf8')) as Lock), []);
  const locked = {
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { version: '1.0.0', resolved: 'https://registry.example/b.tgz' },
    'node_modules/c': { version: 'git+ssh://git@host.example/c' },
    'node_modules/d': { link: true },
  };
  t.same(pinnedHosts({ packages: locked }), ['node_modules/b', 'node_modules/c', 'node_modules/d']);
});

await test('every dependency has one exact version', async (t) => {
  const versions = { ...manifest.dependencies, ...manifest.devDependencies };
  t.same(
    Object.entries(versions).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version)),
    [],
  );
});

await test('every example is complete, reachable from the README, and all of its config is loaded', async (t) => {
  const readme = readFileSync(join(top, 'README.md'), 'utf8');
  for (const name of readdirSync(join(top, 'examples'))) {
    const folder = join(top, 'examples', name);
    const inside = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    t.same(exampleProblems(name, inside), []);
    t.ok(readme.includes(`examples/${name}`), `README.md mentions examples/${name}`);
  }
  t.same(exampleProblems('x', ['README.md', 'config', 'config/a.yaml']), []);
  t.same(exampleProblems('x', ['config/deep/a.yaml']), [
    'x has no README.md',
    'x has no config/*.yaml',
    'x/config/deep/a.yaml is loaded by nothing',
  ]);
});

await test('every module can be imported by itself', async (t) => {
  // Programs start when imported: the two planes, and the worker, which needs its thread.
  const programs = new Set(['gitops/load-worker.ts']);
  const modules = files.filter(
    ({ path }) =>
      /^(schemas|store|gitops|plane|proxy|control-plane)\//.test(path) && !mains.test(path) && !programs.has(path),
  );
  for (const { path } of modules) {
    const module = (await import(pathToFileURL(join(top, path)).href)) as object;
    t.notOk('default' in module, path);
  }
});
