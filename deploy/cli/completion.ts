// `model-gateway completion`: a script that a shell reads, so that it completes commands.
import type { Command, Outcome } from './commands.ts';

const shells = ['bash', 'zsh', 'fish'];
export const completionUsage = shells.join(' | ');
export const completionHelp = `usage: model-gateway completion ${completionUsage}

Prints a script that completes commands and their options:
  bash   source <(model-gateway completion bash)
  zsh    source <(model-gateway completion zsh)
  fish   model-gateway completion fish | source`;

export function completion(commands: readonly Command[], [shell = '', ...others]: readonly string[]): Outcome {
  if (!shells.includes(shell) || others.length > 0)
    return { output: `usage: model-gateway completion ${completionUsage}`, code: 2 };
  return { output: shell === 'fish' ? forFish(commands) : forBash(commands, shell === 'zsh'), code: 0 };
}

/** A word of the line that is typed. */
const word = (index: string): string => `\${COMP_WORDS[${index}]}`;

/** zsh reads scripts for bash. */
function forBash(commands: readonly Command[], isZsh: boolean): string {
  const names = commands.map(({ name }) => name).join(' ');
  const cases = commands.map(({ name, words }) => `    *:${name}) words="${[...words, '--help'].join(' ')}" ;;`);
  return [
    ...(isZsh ? ['autoload -U +X compinit && compinit', 'autoload -U +X bashcompinit && bashcompinit'] : []),
    '_model_gateway() {',
    '  local words',
    `  case "$COMP_CWORD:${word('1')}" in`,
    `    1:*) words="${names} --help --version" ;;`,
    ...cases,
    '  esac',
    `  COMPREPLY=($(compgen -W "$words" -- "${word('COMP_CWORD')}"))`,
    '}',
    'complete -o default -F _model_gateway model-gateway',
  ].join('\n');
}

function forFish(commands: readonly Command[]): string {
  const begin = 'complete -c model-gateway';
  return commands
    .flatMap(({ name, summary, words }) => [
      `${begin} -n __fish_use_subcommand -a ${name} -d ${quote(summary)}`,
      `${begin} -n "__fish_seen_subcommand_from ${name}" -a ${quote([...words, '--help'].join(' '))}`,
    ])
    .join('\n');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}
