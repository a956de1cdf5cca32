// Names of what a provider could not be told, as records show them.
import { withoutSecrets } from '../../schemas/formats/key-shapes.ts';

/** Names of what the provider could not be told: some are the client's, and as many and as long as it likes. */
const mostDropped = 100;
const longestName = 128;

export function shownNames(names: readonly string[], secrets: readonly string[]): string[] {
  const shown = (name: string) => withoutSecrets(name.slice(0, longestName), secrets, name.length > longestName);
  return names.slice(0, mostDropped).map(shown);
}
