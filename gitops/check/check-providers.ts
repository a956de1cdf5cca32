// Checks of providers that the schema cannot express: addresses, keys, headers, models, and names that differ only in letter case.
import { modelId } from '../../domain/listed-models.ts';
import { foldCase } from '../../domain/selector.ts';
import { durationMs } from '../../schemas/formats/units.ts';
import { typesWithoutModelList } from '../../schemas/provider-addresses.ts';
import type { Config, Provider } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { LoadContext } from '../assemble/load-context.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';
import { checkAddress } from './check-address.ts';
import { checkClientAuth } from './check-client-auth.ts';
import { checkCloudIdentity } from './check-cloud-identity.ts';
import { checkForwarded } from './check-forwarded.ts';
import { checkKeys, type ProviderFindings } from './check-keys.ts';
import { checkProxyUrl } from './check-proxy-url.ts';

/** Headers that belong to the connection or to the gateway itself. */
const reservedHeaders = new Set(
  (
    'accept-encoding authorization connection content-encoding content-length content-type expect host keep-alive proxy-authenticate ' +
    'proxy-authorization proxy-connection te trailer transfer-encoding upgrade x-request-id'
  ).split(' '),
);

/** The alternative, or the reason, for some of these headers. */
const reservedHints: Readonly<Record<string, string>> = {
  authorization: '; use api_key',
  'accept-encoding': '; the gateway reads answers, so it asks for them uncompressed',
  'x-request-id': '; it carries the id of each request',
};

/** Checks every provider and fills in the address of its type; values of keys and headers never enter a message. */
export function checkProviders(
  { providers, server }: Pick<Config, 'providers' | 'server'>,
  sources: Sources,
  context: Pick<LoadContext, 'variables' | 'leavesOut'>,
): ProviderFindings {
  const findings: ProviderFindings = { problems: [], warnings: [], keyless: new Set() };
  const folded = new Map<string, string>();
  for (const [name, provider] of Object.entries(providers)) {
    const twin = folded.get(foldCase(name));
    if (twin === undefined) folded.set(foldCase(name), name);
    else {
      const message = `differs from ${quote(twin)} (${sources.place(['providers', twin], 'key')}) only in letter case, which does not count`;
      findings.problems.push(sources.problem(['providers', name], message, 'key'));
    }
    checkAddress(name, provider, sources, findings);
    checkKeys({ name, provider, sources, findings, context });
    findings.problems.push(...checkCloudIdentity(name, provider, sources), ...checkClientAuth(name, provider, sources));
    checkProxyUrl(name, provider, sources, findings);
    checkHeaders(name, provider, sources, findings.problems);
    findings.problems.push(...checkForwarded(name, provider, server, sources));
    checkModels(name, provider, sources, findings.problems);
    checkDiscovery(name, provider, sources, findings.problems);
    checkProbe(name, provider, sources, findings.problems);
  }
  return findings;
}

function checkHeaders(name: string, provider: Provider, sources: Sources, problems: Problem[]): void {
  const seen = new Map<string, string>();
  for (const header of Object.keys(provider.headers)) {
    const path = ['providers', name, 'headers', header];
    const folded = header.toLowerCase();
    const twin = seen.get(folded);
    if (twin !== undefined) problems.push(sources.problem(path, `is the same header as ${quote(twin)}`, 'key'));
    seen.set(folded, header);
    if (!reservedHeaders.has(folded)) continue;
    const hint = reservedHints[folded] ?? '';
    problems.push(sources.problem(path, `is set by the gateway itself and cannot be configured${hint}`, 'key'));
  }
}

/** Clients ask for the listed names, so a pattern in the list would be a name that no upstream knows. */
function checkModels(name: string, { models = [] }: Provider, sources: Sources, problems: Problem[]): void {
  const firsts = new Map<string, number>();
  models.forEach((entry, index) => {
    const model = modelId(entry);
    const path = ['providers', name, 'models', index, ...(typeof entry === 'string' ? [] : ['id'])];
    if (sources.isUnknown(path)) return;
    const first = firsts.get(model);
    if (first === undefined) firsts.set(model, index);
    else problems.push(sources.problem(path, `is the same model as entry [${first}]; remove one of them`));
    if (!model.includes('*')) return;
    const message = `must be the id of one model, found the pattern ${quote(model)}; list every model that may be used`;
    problems.push(sources.problem(path, message));
  });
}

/** The shortest time between two questions for models. Milliseconds. */
const shortestRefreshMs = 100;

function checkDiscovery(name: string, provider: Provider, sources: Sources, problems: Problem[]): void {
  const { type, models, discovery } = provider;
  if (models === undefined && typesWithoutModelList.has(type)) {
    const message = `${quote(type)} has no list of the models that a key may use, so models is needed beside it`;
    problems.push(sources.problem(['providers', name, 'type'], message));
  }
  if (discovery === undefined) return;
  const path = ['providers', name, 'discovery'];
  if (models !== undefined) {
    const message = `stands beside models (${sources.place(['providers', name, 'models'], 'key')}): a provider with a list is never asked; remove one of them`;
    problems.push(sources.problem(path, message, 'key'));
  }
  if (durationMs(discovery.refresh) < shortestRefreshMs)
    problems.push(sources.problem([...path, 'refresh'], `must be at least 100ms, found ${quote(discovery.refresh)}`));
}

function checkProbe(name: string, { type, models, probe }: Provider, sources: Sources, problems: Problem[]): void {
  if (probe === undefined) return;
  const path = ['providers', name, 'probe'];
  const { interval, model } = probe;
  if (durationMs(interval) < shortestRefreshMs)
    problems.push(sources.problem([...path, 'interval'], `must be at least 100ms, found ${quote(interval)}`));
  if (model === undefined && typesWithoutModelList.has(type))
    problems.push(sources.problem(path, `needs a model: ${quote(type)} has no list of models to ask for`, 'key'));
  if (model === undefined || models === undefined || models.some((listed) => modelId(listed) === model)) return;
  const message = `must be one of the models of the provider (${sources.place(['providers', name, 'models'], 'key')}), found ${quote(model)}`;
  problems.push(sources.problem([...path, 'model'], message));
}
