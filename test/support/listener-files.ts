// The files of a listener with TLS as Kubernetes mounts them: links into a directory that is itself a link, which is replaced as a whole.
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Authority, type CertificateFacts, createAuthority, type Pair } from './certificate.ts';
import { type Teardown, temporaryDirectory } from './teardown.ts';

export interface ListenerMount {
  readonly authority: Authority;
  /** Members of `tls`. */
  readonly files: { readonly certificate_file: string; readonly key_file: string };
  /** The path of any file that was swapped in. */
  readonly path: (name: string) => string;
  /** A new pair for 127.0.0.1 and localhost. */
  issue(facts?: Partial<CertificateFacts>): Pair;
  /** Puts other files in their place, all at once: `tls.crt`, `tls.key` and others. */
  swap(files: Readonly<Record<string, string>>): void;
  /** As `swap`, of a pair and what stays. */
  swapPair(pair: Pair): void;
}

/** Mounts a first pair, and `more` files. */
export function mountListener(
  t: Teardown,
  more: (authority: Authority) => Readonly<Record<string, string>> = () => ({}),
): ListenerMount {
  const folder = temporaryDirectory(t, 'listener');
  const authority = createAuthority();
  let count = 0;
  let files: Readonly<Record<string, string>> = more(authority);
  const swap = (next: Readonly<Record<string, string>>): void => {
    const isFirst = count === 0;
    count += 1;
    files = { ...files, ...next };
    mkdirSync(join(folder, `..${count}`));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `..${count}`, name), text);
    symlinkSync(`..${count}`, join(folder, '..tmp'));
    renameSync(join(folder, '..tmp'), join(folder, '..data'));
    if (isFirst) for (const name of Object.keys(files)) symlinkSync(join('..data', name), join(folder, name));
  };
  const issue: ListenerMount['issue'] = (facts = {}) =>
    authority.issue({
      subject: { CN: 'localhost' },
      alternatives: [
        ['dns', 'localhost'],
        ['ip', '127.0.0.1'],
      ],
      ...facts,
    });
  const swapPair = ({ cert, key }: Pair): void => swap({ 'tls.crt': cert, 'tls.key': key });
  swapPair(issue());
  const path = (name: string): string => join(folder, name);
  return {
    authority,
    files: { certificate_file: path('tls.crt'), key_file: path('tls.key') },
    path,
    issue,
    swap,
    swapPair,
  };
}
