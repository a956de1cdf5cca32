// Tokens of Azure: for an application, which proves itself by a secret, a certificate or the token of a Kubernetes service account; or for
// the managed identity of this machine. The environment says which, as for Microsoft's own tools; nobody is asked to log in.
import type { AzureIdentity } from '../../schemas/types.ts';
import type { Variables } from '../../schemas/variables.ts';
import { azureApplication } from './azure-application.ts';
import { azureNetwork } from './azure-network.ts';
import { bearerToken } from './bearer-token.ts';
import { loadPackage } from './load-package.ts';
import type { SourceParts, TokenSource } from './token-source.ts';
import { IdentityProblem, shownWords } from './vendor-error.ts';
import { asking, vendorFetch } from './vendor-fetch.ts';

export type AzureKind = NonNullable<AzureIdentity['identity']>;

/** The variable that each kind stands on. The first that is set counts, in this order. */
export const variableOfKind = {
  client_secret: 'AZURE_CLIENT_SECRET',
  client_certificate: 'AZURE_CLIENT_CERTIFICATE_PATH',
  workload: 'AZURE_FEDERATED_TOKEN_FILE',
} as const satisfies Partial<Record<AzureKind, string>>;

const names: Readonly<Record<AzureKind, string>> = {
  client_secret: 'application with a secret',
  client_certificate: 'application with a certificate',
  workload: 'workload identity',
  managed: 'managed identity',
};

export function azureSource(
  settings: AzureIdentity,
  { variables, wallMs, fetch = vendorFetch }: SourceParts,
): TokenSource {
  const kind = settings.identity ?? kindIn(variables);
  const clientId = settings.client_id ?? (variables['AZURE_CLIENT_ID'] || undefined);
  const principal = clientId ?? 'the system-assigned identity of this machine';
  const described = `Azure ${names[kind]} ${clientId ?? '(system-assigned)'}`;
  return {
    describe: () => described,
    async fetch(signal) {
      const msal = await loadPackage('@azure/msal-node', () => import('@azure/msal-node'));
      const system = {
        networkClient: azureNetwork(fetch),
        // A failed question is repeated later by what renews tokens.
        disableInternalRetries: true,
        loggerOptions: { loggerCallback: () => undefined, piiLoggingEnabled: false },
      };
      try {
        const { value, issuerNowMs } = await asking(signal, async () => {
          if (kind === 'managed') {
            const managedIdentityIdParams = clientId === undefined ? {} : { userAssignedClientId: clientId };
            const machine = new msal.ManagedIdentityApplication({ managedIdentityIdParams, system });
            return machine.acquireToken({ resource: settings.scope, forceRefresh: true });
          }
          const auth = await azureApplication(kind, { settings, variables });
          // A new one each time: it keeps refusals for a minute, and tokens.
          const application = new msal.ConfidentialClientApplication({ auth, system });
          return application.acquireTokenByClientCredential({ scopes: [settings.scope], skipCache: true });
        });
        const given = {
          token: value?.accessToken,
          expiresAtMs: value?.expiresOn?.getTime(),
          // A machine is told when its token ends; an application how long it lives, which the package adds to the wall clock.
          countedFromMs: kind === 'managed' ? undefined : wallMs(),
          principal,
        };
        return bearerToken('Azure', given, issuerNowMs);
      } catch (error) {
        if (error instanceof IdentityProblem) throw error;
        const words = shownWords(error, secretsIn(variables));
        throw new IdentityProblem(`${described} gave no token: ${words}${hintOf(kind, words)}`);
      }
    },
  };
}

function kindIn(variables: Variables): AzureKind {
  const kinds = Object.keys(variableOfKind) as (keyof typeof variableOfKind)[];
  return kinds.find((kind) => (variables[variableOfKind[kind]] ?? '') !== '') ?? 'managed';
}

function secretsIn(variables: Variables): string[] {
  return [variables['AZURE_CLIENT_SECRET'] ?? '', variables['AZURE_CLIENT_CERTIFICATE_PASSWORD'] ?? ''];
}

function hintOf(kind: AzureKind, words: string): string {
  if (/AADSTS700024|clock/i.test(words))
    return '. Check the clock of this machine, and whether the token in the file is fresh';
  if (kind !== 'managed') return '';
  return '. Assign a managed identity to this machine, or set AZURE_FEDERATED_TOKEN_FILE or AZURE_CLIENT_SECRET';
}
