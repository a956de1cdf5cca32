// What clients call themselves, as records show it.
import { withoutKeys, withoutKeysOfQuery } from '../../schemas/formats/key-shapes.ts';

/** Characters. */
const longestText = 2048;
/** How the names that came are shown: few clients have many names. */
const agents = new Map<string, string>();
const mostAgents = 256;

export function shownAgent(whole: string): string {
  const agent = whole.length > longestText ? whole.slice(0, longestText) : whole;
  let shown = agents.get(agent);
  if (shown === undefined) {
    if (agents.size >= mostAgents) agents.clear();
    shown = withoutKeys(withoutKeysOfQuery(agent));
    agents.set(agent, shown);
  }
  return shown;
}
