// The rules of a single file: where clock and environment live, how it is named, how long it is, what it never says.
import { basename } from 'node:path';
import { type Rule, standsIn } from './checks.ts';
import { manifest } from './manifest.ts';
import { codeOf, functionsOf, importsOf, packageOf } from './source-files.ts';

const bannedNames = new Set(
  'util utils common shared helper helpers misc base core lib manager service handler factory types'.split(' '),
);

export const fileRules: readonly Rule[] = [
  {
    claim: 'every import names what it means: literal, with its ending, no require',
    check: (file) => {
      const code = codeOf(file.text);
      const odd = /\bimport\(\s*[^'"`\s]|\bimport\(\s*`[^`]*\$\{|\brequire\(|\bcreateRequire\b/.exec(code)?.[0];
      // The build gives packages in CommonJS what they call.
      if (odd === 'createRequire' && file.path === 'deploy/build.ts') return [];
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
    claim: 'a late import of a package takes its default: a build gives it no other name',
    check: ({ text }) =>
      [...codeOf(text).matchAll(/(.{0,40})await import\('([^'.][^']*)'\)(\)\.default)?/g)]
        .filter(
          ([, before = '', name = '', after]) =>
            !name.startsWith('node:') && after === undefined && !/\{ default: \w+ \} = $/.test(before),
        )
        .map(([, , name]) => `imports ${name} late`),
    bad: [
      ['proxy/a.ts', "const { Pool } = await import('pg');"],
      ['proxy/a.ts', "const pg = await import('pg');"],
    ],
    good: [
      ['proxy/a.ts', "const { default: pg } = await import('pg');"],
      ['proxy/a.ts', "const { Pool } = (await import('pg')).default;"],
      ['proxy/a.ts', "const { b } = await import('./b.ts');"],
    ],
  },
  {
    claim: 'every package is a declared dependency',
    check: (file) =>
      importsOf(file)
        .map(packageOf)
        .filter(
          (name) => name !== undefined && !(name in manifest.dependencies || name in manifest.optionalDependencies),
        )
        .filter(
          (name) =>
            !(
              ['schemas/generate/generate-types.ts', 'deploy/build.ts'].includes(file.path) &&
              (name ?? '') in manifest.devDependencies
            ),
        )
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
      /^((proxy|control-plane)\/environment\.ts|gitops\/cli\/(check|import)\.ts|(deploy|examples)\/.+)$/,
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
    claim:
      'the clock is read in the programs: main.ts, serve.ts, what makes and restores backups, check.ts and plan.ts',
    check: standsIn(
      /\bDate\b|\bperformance\b|\bprocess\.(hrtime|uptime)\b|node:perf_hooks/,
      /^((proxy|control-plane)\/main\.ts|proxy\/serve\.ts|control-plane\/(backup|restore)\.ts|proxy\/(check|plan)\.ts|gitops\/cli\/check\.ts|domain\/timestamp\.ts|control-plane\/dashboard\/page\/time\.ts|(deploy|examples)\/.+)$/,
    ),
    bad: [
      ['control-plane/dashboard/page/a.ts', 'const now = Date.now();'],
      ['proxy/stages/a.ts', 'const now = Date.now();'],
      ['control-plane/server.ts', 'const now = new Date();'],
      ['schemas/a.ts', 'const now = performance.now();'],
      ['proxy/a.ts', 'const now = process.hrtime.bigint();'],
    ],
    good: [['proxy/a.ts', '// The Date header\nconst update = lastUpdate;']],
  },
  {
    claim: 'a source file has at most 400 lines',
    check: ({ path, text }) => {
      const lines = text.replace(/\n$/, '').split('\n').length;
      return path === 'schemas/types.ts' || lines <= 400 ? [] : [`has ${lines} lines of 400`];
    },
    bad: [['proxy/a.ts', '// a\n'.repeat(401)]],
    good: [
      ['proxy/a.ts', '// a\n'.repeat(400)],
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
      const allowed = ['schemas/types.ts', 'schemas/generate/generate-types.ts'].includes(path);
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
    check: ({ path, text }) => {
      // There it is about the certificates of clients.
      if (path === 'plane/tls/secure-listener.ts') return [];
      const found = /rejectUnauthorized|NODE_TLS_REJECT_UNAUTHORIZED|checkServerIdentity/.exec(text)?.[0];
      return found === undefined ? [] : [`says ${found}`];
    },
    bad: [
      ['proxy/upstream/pools.ts', 'new Pool(origin, { connect: { rejectUnauthorized: false } });'],
      ['deploy/local.ts', "const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };"],
    ],
  },
];
