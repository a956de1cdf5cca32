// Every command of `model-gateway`, in the order of the help.
import { join, relative } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { startedExamples } from '../local/examples.ts';
import { catalogue, catalogueHelp, catalogueUsage } from './catalogue.ts';
import type { Command, Outcome } from './commands.ts';
import { completion, completionHelp, completionUsage } from './completion.ts';
import { drift, driftHelp, driftUsage } from './drift.ts';
import { explain, explainHelp, explainUsage } from './explain.ts';
import { exportHelp, exportManaged, exportUsage } from './export.ts';
import { keys, keysHelp, keysUsage } from './keys.ts';
import { pin, pinHelp, pinUsage, unpin, unpinHelp, unpinUsage } from './pin.ts';
import { plan, planHelp, planUsage } from './plan.ts';
import { top } from './programs.ts';
import { revisions, revisionsHelp, revisionsUsage } from './revisions.ts';
import { rollout, rolloutHelp, rolloutUsage } from './rollout.ts';
import { testOf, testOfHelp, testOfUsage } from './test-of.ts';

export const commands: readonly Command[] = [
  {
    name: 'start',
    usage: '[EXAMPLE]',
    summary: 'both planes and a demo provider on this machine, or an example',
    words: startedExamples,
    program: 'start',
    help: `usage: model-gateway start [EXAMPLE]

Starts a proxy, a control plane and a demo provider with the configuration in ./config, or with that of the quick start where there is
none, and prints an address, a master key and a request to paste. Everything it keeps lies in ./data. Ctrl-C stops it.
Examples: ${startedExamples.join(', ')}`,
  },
  {
    name: 'proxy',
    usage: '',
    summary: 'a proxy: what clients ask',
    words: [],
    program: 'proxy',
    help: `usage: model-gateway proxy

Runs one proxy with the configuration in GATEWAY_CONFIG (default ./config). It keeps its data in GATEWAY_DATA (default ./data), listens on
GATEWAY_HOST and GATEWAY_PORT, and needs GATEWAY_MASTER_KEY or GATEWAY_MASTER_KEY_FILE.`,
  },
  {
    name: 'control-plane',
    usage: '',
    summary: 'the control plane: admin API, dashboard, records',
    words: [],
    program: 'control-plane',
    help: `usage: model-gateway control-plane

Runs the control plane of a fleet with the configuration in GATEWAY_CONFIG (default ./config). It keeps its data in GATEWAY_DATA (default
./data), listens on GATEWAY_ADMIN_HOST and GATEWAY_ADMIN_PORT, and needs GATEWAY_MASTER_KEY or GATEWAY_MASTER_KEY_FILE.`,
  },
  {
    name: 'check',
    usage: 'DIR [--strict] [--rules] [--token FILE] [--test] [--format text|json|github|markdown|junit]',
    summary: 'what is wrong in a configuration, with file, line and column; runs its tests',
    words: ['--strict', '--diff', '--rules', '--token', '--test', '--format'],
    program: 'check',
    programFor: (args) => (args.includes('--test') ? 'check-tests' : 'check'),
  },
  {
    name: 'diff',
    usage: 'DIR OTHER [--format text|json|github]',
    summary: 'what a configuration loosens, tightens or changes since another directory, branch or commit',
    words: ['--strict', '--rules', '--format'],
    program: 'check',
    help: `usage: model-gateway diff DIR OTHER [--strict] [--rules] [--format text|json|github]

Says what DIR adds, removes, loosens, tightens or changes since OTHER: another directory, or a branch, tag or commit of the git repository of
DIR. It is model-gateway check with --diff, and has its options and exit codes; a change alone never fails.`,
    argumentsFor: ([directory, other, ...rest]) =>
      directory === undefined || other === undefined ? undefined : [directory, '--diff', other, ...rest],
  },
  {
    name: 'plan',
    usage: planUsage,
    summary: 'what a change would have done to recorded traffic: refusals, moves, cost',
    words: ['--against', '--traffic', '--live', '--salt-file', '--since', '--until', '--format', '--fail-on'],
    help: planHelp,
    run: plan,
  },
  {
    name: 'import',
    usage: 'litellm|portkey|env [FILE] [--out DIR] [--force] [--keys FILE] [--name NAME]',
    summary: 'makes a configuration of that of LiteLLM or Portkey, or of keys in the environment',
    words: ['litellm', 'portkey', 'env', '--out', '--force', '--keys', '--name'],
    program: 'import',
  },
  {
    name: 'catalogue',
    usage: catalogueUsage,
    summary: 'the facts of models that this version knows, and what a newer file would change',
    words: ['diff', '--json'],
    help: catalogueHelp,
    run: catalogue,
  },
  {
    name: 'explain',
    usage: explainUsage,
    summary: 'what would become of a request now, or why one was refused',
    words: ['--user-path', '--endpoint', '--input-tokens', '--key-id', '--id', '--as-test', '--json', '--url'],
    help: explainHelp,
    run: explain,
  },
  {
    name: 'test-of',
    usage: testOfUsage,
    summary: 'a test of the configuration, made of a request that was sent',
    words: ['--out', '--force', '--url'],
    help: testOfHelp,
    run: testOf,
  },
  {
    name: 'keys',
    usage: keysUsage,
    summary: 'keys of clients: makes, lists, issues, revokes them',
    words: ['new', 'list', 'issue', 'revoke', 'rotate', '--user-path', '--models', '--expires-in', '--json', '--url'],
    help: keysHelp,
    run: keys,
  },
  {
    name: 'export',
    usage: exportUsage,
    summary: 'what operators have set outside git, as YAML for git; keys; recorded traffic',
    words: ['keys', 'traffic', '--patch', '--force', '--since', '--until', '--share', '--salt-file', '--url'],
    help: exportHelp,
    run: exportManaged,
  },
  {
    name: 'drift',
    usage: driftUsage,
    summary: 'what runs and is not what git says: revisions, rejected ones, what operators have set',
    words: ['--ref', '--format', '--fail-on', '--url'],
    help: driftHelp,
    run: drift,
  },
  {
    name: 'pin',
    usage: pinUsage,
    summary: 'keeps all proxies to an earlier revision of the configuration until an end',
    words: ['previous', '--reason', '--for', '--json', '--url'],
    help: pinHelp,
    run: pin,
  },
  {
    name: 'unpin',
    usage: unpinUsage,
    summary: 'ends that: what the directories hold is in force again',
    words: ['--json', '--url'],
    help: unpinHelp,
    run: unpin,
  },
  {
    name: 'revisions',
    usage: revisionsUsage,
    summary: 'revisions of the configuration: who has which, and what differs between two',
    words: ['list', 'show', 'diff', '--json', '--url'],
    help: revisionsHelp,
    run: revisions,
  },
  {
    name: 'rollout',
    usage: rolloutUsage,
    summary: 'how the rollout of a revision is doing, and its end before its time',
    words: ['finish', 'abort', '--reason', '--json', '--url'],
    help: rolloutHelp,
    run: rollout,
  },
  {
    name: 'backup',
    usage: 'DIR',
    summary: 'copies the data of this machine into a directory, while the gateway runs',
    words: [],
    program: 'backup',
  },
  {
    name: 'restore',
    usage: 'DIR',
    summary: 'puts a backup in the place of the data of a stopped gateway',
    words: [],
    program: 'restore',
  },
  {
    name: 'restore-state',
    usage: 'SOURCE [--yes]',
    summary: 'puts an older state of rules and keys in force on purpose',
    words: ['store', '--yes'],
    program: 'restore-state',
  },
  {
    name: 'completion',
    usage: completionUsage,
    summary: 'a script with which a shell completes these commands',
    words: ['bash', 'zsh', 'fish'],
    help: completionHelp,
    run: (args) => completion(commands, args),
  },
  {
    name: 'version',
    usage: '',
    summary: 'the version of the gateway and of Node',
    words: [],
    help: 'usage: model-gateway version',
    run: version,
  },
];

function version(): Outcome {
  return { output: `model-gateway ${manifest.version}, Node ${process.versions.node}`, code: 0 };
}

const widest = Math.max(...commands.map(({ name }) => name.length));

/** What `model-gateway --help` prints. */
export const help = `usage: model-gateway COMMAND [--help]

${commands.map(({ name, summary }) => `  ${name.padEnd(widest)}  ${summary}`).join('\n')}

exit code: 0 done, 1 not done, 2 the command itself is wrong
fields of the configuration, variables, endpoints, metrics: ${relative(process.cwd(), join(top, 'schemas/REFERENCE.md'))}`;
