// Whether the extension of the embedded semantic cache is there: npm installs it for the platforms that it is built for.
import { getLoadablePath } from 'sqlite-vec';

/** Why it cannot be loaded on this machine, as a sentence; undefined: it can. `find` gives its path, or throws. */
export function missingExtension(find: () => string = getLoadablePath): string | undefined {
  try {
    find();
    return undefined;
  } catch (error) {
    const [reason] = String(error instanceof Error ? error.message : error).split('\n');
    return `the extension sqlite-vec is not installed for ${process.platform} on ${process.arch} (${reason})`;
  }
}
