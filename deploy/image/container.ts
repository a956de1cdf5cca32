// A process in the root file system of an image, as an engine for containers starts it: first process of its namespace, a user without rights, a root
// that is read-only. It shares the network of this machine, so each listens on a port of 127.0.0.1.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import type { ImageSettings } from './dockerfile.ts';

export interface Container {
  /** Lines of its standard output and error so far. */
  readonly said: () => string;
  /** Resolves with the exit code, -1 when a signal ended it. */
  readonly ended: Promise<number>;
  /** Sends the signal of the image and waits for the end. */
  readonly stop: () => Promise<number>;
}

export interface Start {
  readonly root: string;
  readonly settings: ImageSettings;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Paths of this machine, by where they are mounted. */
  readonly mounts: Readonly<Record<string, string>>;
}

/** Mounts, then becomes the command. `$1` root, `$2` user:group, `$3` folder; the command follows; pairs of mounts come by the environment. */
const enter = `
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
echo "$MOUNTS" | while read -r from to; do mkdir -p "$1$to"; mount --bind "$from" "$1$to"; done
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
mount -t proc proc "$1/proc"
mount -t tmpfs tmpfs "$1/dev"
for device in null zero random urandom; do touch "$1/dev/$device"; mount --bind "/dev/$device" "$1/dev/$device"; done
mount -o remount,ro,bind "$1"
root=$1 user=$2 folder=$3
shift 3
exec env -u MOUNTS setpriv --no-new-privs --clear-groups -- \\
  unshare --root="$root" --wd="$folder" --setuid="\${user%:*}" --setgid="\${user#*:}" -- "$@"
`;

/** Starts a container. */
export function startContainer({ root, settings, command, environment, mounts }: Start): Container {
  const { user, folder } = settings;
  const args = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', enter, 'sh'];
  const child = spawn('unshare', [...args, root, `${user.uid}:${user.gid}`, folder, ...command], {
    env: {
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      ...settings.environment,
      ...environment,
      MOUNTS: Object.entries(mounts)
        .map(([to, from]) => `${from} ${to}`)
        .join('\n'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => {
      said += piece.toString();
    });
  const ended = once(child, 'close').then(([code]) => (code as number | null) ?? -1);
  return {
    said: () => said,
    ended,
    stop() {
      const first = firstProcess(child);
      if (first !== undefined) process.kill(first, settings.stopSignal);
      return ended;
    },
  };
}

/** The first process of the namespace, as this machine counts it. */
function firstProcess({ pid }: ChildProcess): number | undefined {
  const file = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(file)) return undefined;
  return Number(readFileSync(file, 'utf8').split(' ')[0]) || undefined;
}

/** Runs a command to its end in a container of its own; gives its exit code and what it printed. */
export async function runInContainer(start: Start): Promise<{ readonly code: number; readonly said: string }> {
  const container = startContainer(start);
  const code = await container.ended;
  return { code, said: container.said() };
}
